/** Installs the system's packages and builds the programs that the end-to-end tests run. */
import { ensureBinaries } from '../process/binaries.ts';
import { ensureOsPackages } from '../process/os-packages.ts';

await ensureOsPackages();
await ensureBinaries((line) => console.log(line));
