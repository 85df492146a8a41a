import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { loadCredentials } from '../../../src/client/credentials/credentials.ts';
import { nodeProxyOptions } from '../../../src/config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../../../src/config/settings.ts';
import {
  type NodeProxy,
  type NodeProxyOptions,
  startNodeProxy,
} from '../../../src/server/node-proxy.ts';

/**
 * Starts the real proxy in this process, in front of an API server with plain http.
 *
 * @param raw settings as in the settings file
 */
export async function startWrapper(
  apiServer: string,
  options: Partial<NodeProxyOptions> = {},
  raw: RawSettings = {},
): Promise<NodeProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-proxy-wrapper-test-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(apiServer));
  const logger = options.logger ?? pino({ level: 'silent' });
  const credentials = await loadCredentials({ kubeconfig, logger });
  const settings = loadSettings(
    { nodeName: 'edge-1', listen: '127.0.0.1:0', ...raw },
    {},
    undefined,
  );
  const proxy = await startNodeProxy({
    ...nodeProxyOptions(settings),
    credentials,
    window: { entries: 1000, bytes: 1 << 20 },
    readyWaitMs: 20_000,
    minWatchMs: 60_000,
    logger,
    ...options,
  });
  return {
    ...proxy,
    async close() {
      await proxy.close();
      credentials.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
