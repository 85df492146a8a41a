/** Installs and builds what the tests of versions run. Takes an hour of 2 cores the first time, seconds afterwards. */
import { apiServers, ensureApiServer, ensureKubeProxy, kubeProxies } from './support/components.ts';

const report = (line: string) => console.log(line);
for (const { version } of kubeProxies) await ensureKubeProxy(version, report);
for (const version of apiServers) await ensureApiServer(version, report);
