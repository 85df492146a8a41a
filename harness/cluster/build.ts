/** Installs the system's packages and builds the programs that the cluster tests run. */
import { ensureClusterBinaries } from './binaries.ts';

await ensureClusterBinaries((line) => console.log(line));
