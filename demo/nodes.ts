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
  /** Absolute path of the folder of its snapshots. */
  readonly stateDir: string;
  close(): Promise<void>;
}

/** The nodes of the demo. Each is started when it is first requested, and keeps snapshots in a folder of its own. */
export class DemoNodes {
  readonly #apiServer: string;
  readonly #logger: Logger;
  readonly #folder: string;
  readonly #nodes = new Map<string, Promise<DemoNode>>();

  /** @param folder an empty one for the snapshots; the caller removes it */
  constructor(apiServer: string, logger: Logger, folder: string) {
    this.#apiServer = apiServer;
    this.#logger = logger;
    this.#folder = folder;
  }

  /** @param name name of an existing node, which bounds their number */
  get(name: string): Promise<DemoNode> {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    return this.#start(name, mkdtemp(join(this.#folder, 'node-')));
  }

  /** Ends all nodes and starts them again, as after a power cut: they have nothing but their snapshots. */
  async reboot(): Promise<void> {
    const started = [...this.#nodes].map(([name, node]) =>
      this.#start(
        name,
        node.then(async ({ stateDir, close }) => {
          await close();
          return stateDir;
        }),
      ),
    );
    await Promise.all(started);
  }

  async close(): Promise<void> {
    const nodes = await Promise.allSettled(this.#nodes.values());
    const started = nodes.flatMap((node) => (node.status === 'fulfilled' ? node.value : []));
    await Promise.all(started.map((node) => node.close()));
  }

  /** @param folder of its snapshots, as soon as nobody else uses it */
  #start(name: string, folder: Promise<string>): Promise<DemoNode> {
    const logger = this.#logger.child({ node: name });
    const started = folder.then((stateDir) => startNode(this.#apiServer, name, stateDir, logger));
    this.#nodes.set(name, started);
    // The caller reports the error. The next request tries again.
    started.catch(() => this.#nodes.delete(name));
    return started;
  }
}

async function startNode(
  apiServer: string,
  name: string,
  stateDir: string,
  logger: Logger,
): Promise<DemoNode> {
  const credentials = await credentialsFor(apiServer, logger);
  const flags = { nodeName: name, listen: '127.0.0.1:0', stateDir };
  const settings = loadSettings(flags, {}, undefined);
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
      stateDir,
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
