/** Builds and installs what the tests of the chart run. */
import { ensureChartTools } from './tools.ts';

await ensureChartTools((line) => console.log(line));
