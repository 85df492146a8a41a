import { ensureClusterBinaries } from './cluster/binaries.ts';
import { ensureChartTools, ensureTools } from './deploy/tools.ts';
import { ensureGuestImage } from './ipvs/guest-image.ts';
import { ensureBinaries } from './process/binaries.ts';
import { ensureOsPackages } from './process/os-packages.ts';
import {
  apiServers,
  ensureApiServer,
  ensureCoreDns,
  ensureKubeProxy,
  ensureTraefik,
  kubeProxies,
} from './versions/components.ts';

/*
 * `node harness/build.ts PART…` installs and builds what the tests of some suites run. The first time it takes minutes,
 * 45 of 2 cores for `versions`; afterwards seconds.
 */

const report = (line: string) => console.log(line);

const PARTS: Readonly<Record<string, () => Promise<unknown>>> = {
  /** The programs of the end-to-end tests, and packages of the system. */
  components: async () => {
    await ensureOsPackages();
    await ensureBinaries(report);
  },
  cluster: async () => await ensureClusterBinaries(report),
  deploy: async () => await ensureTools(report),
  charts: async () => await ensureChartTools(report),
  /** QEMU, and the image of the machine that the tests boot. */
  ipvs: async () => await ensureGuestImage(report),
  versions: async () => {
    await ensureCoreDns(report);
    await ensureTraefik(report);
    for (const { version } of kubeProxies) await ensureKubeProxy(version, report);
    for (const { version } of apiServers) await ensureApiServer(version, report);
  },
};

for (const name of process.argv.slice(2)) {
  const build = PARTS[name];
  if (build === undefined) {
    throw new Error(`there is no part ${name}; parts are ${Object.keys(PARTS).join(', ')}`);
  }
  await build();
}
