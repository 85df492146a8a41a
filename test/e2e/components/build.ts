/** Installs the system's packages and builds the programs that the end-to-end tests run. */
import { ensureBinaries } from '../support/binaries.ts';
import { ensureOsPackages } from '../support/os-packages.ts';

await ensureOsPackages();
await ensureBinaries((line) => console.log(line));
