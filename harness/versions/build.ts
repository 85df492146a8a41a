/**
 * Installs and builds what the tests of versions run. Takes 45 minutes of 2 cores the first time, seconds afterwards.
 */
import {
  apiServers,
  ensureApiServer,
  ensureCoreDns,
  ensureKubeProxy,
  ensureTraefik,
  kubeProxies,
} from './components.ts';
import { ensurePythonClient } from './python.ts';

const report = (line: string) => console.log(line);
await ensurePythonClient(report);
await ensureCoreDns(report);
await ensureTraefik(report);
for (const { version } of kubeProxies) await ensureKubeProxy(version, report);
for (const version of apiServers) await ensureApiServer(version, report);
