import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { kubeconfigFor } from '../fake-apiserver/kubeconfig.ts';
import { createAdminHandler } from '../src/admin/wrapper-routes.ts';
import { type Credentials, loadCredentials } from '../src/client/credentials/credentials.ts';
import { nodeProxyOptions } from '../src/config/node-proxy-options.ts';
import { loadSettings } from '../src/config/settings.ts';
import { type NodeProxy, startNodeProxy } from '../src/server/node-proxy.ts';
import { type WatchClient, watchSlices } from './watch-client.ts';

/** The maximum delay of a timer, 25 days, in milliseconds. */
const NEVER_MS = 2 ** 31 - 1;

/** A node of the demo: its wrapper, and a client that watches like kube-proxy. */
export interface DemoNode {
  readonly proxy: NodeProxy;
  readonly client: WatchClient;
  readonly answer: ReturnType<typeof createAdminHandler>;
  close(): Promise<void>;
}

/** The nodes of the demo. Each is started when it is first requested. */
export class DemoNodes {
  readonly #apiServer: string;
  readonly #logger: Logger;
  readonly #nodes = new Map<string, Promise<DemoNode>>();

  constructor(apiServer: string, logger: Logger) {
    this.#apiServer = apiServer;
    this.#logger = logger;
  }

  /** @param name name of an existing node, which bounds their number */
  get(name: string): Promise<DemoNode> {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const started = startNode(this.#apiServer, name, this.#logger.child({ node: name }));
    this.#nodes.set(name, started);
    // The caller reports the error. The next request tries again.
    started.catch(() => this.#nodes.delete(name));
    return started;
  }

  async close(): Promise<void> {
    const nodes = await Promise.allSettled(this.#nodes.values());
    const started = nodes.flatMap((node) => (node.status === 'fulfilled' ? node.value : []));
    await Promise.all(started.map((node) => node.close()));
  }
}

async function startNode(apiServer: string, name: string, logger: Logger): Promise<DemoNode> {
  const credentials = await credentialsFor(apiServer, logger);
  const settings = loadSettings({ nodeName: name, listen: '127.0.0.1:0' }, {}, undefined);
  const proxy = await startNodeProxy({ ...nodeProxyOptions(settings), credentials, logger });
  const stop = async (): Promise<void> => {
    await proxy.close();
    credentials.close();
  };
  try {
    const client = await watchSlices(await credentialsFor(proxy.url, logger));
    return {
      proxy,
      client,
      answer: createAdminHandler(proxy, logger),
      async close() {
        await client.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Removes the kubeconfig immediately after it was read, so that no file remains however the demo ends. */
async function credentialsFor(url: string, logger: Logger): Promise<Credentials> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-proxy-wrapper-demo-'));
  try {
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigFor(url));
    return await loadCredentials({ kubeconfig, logger, pollMs: NEVER_MS });
  } finally {
    await rm(folder, { recursive: true });
  }
}
