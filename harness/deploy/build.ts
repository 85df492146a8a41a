/** Builds and installs what the tests of the deployment run. */
import { ensureTools } from './tools.ts';

await ensureTools((line) => console.log(line));
