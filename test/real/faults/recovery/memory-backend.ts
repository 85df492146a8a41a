import { type ApiServer, createApiServer } from '../../../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../../../fake-apiserver/kube-object.ts';
import { type ApiClient, createApiClient } from '../../../../harness/api-server/api.ts';
import { SELF } from '../wrapper-under-test.ts';

const COLLECTIONS = ['nodes', 'services', 'endpointslices'] as const;

/** A copy of all objects, as a backup of etcd. */
export interface Backup {
  readonly resourceVersion: number;
  readonly objects: ReadonlyMap<(typeof COLLECTIONS)[number], readonly KubeObject[]>;
}

/** The API server in memory, with what only it can do. */
export interface MemoryBackend {
  readonly api: ApiServer;
  /** Where requests go now, such as `http://127.0.0.1:1234`. */
  readonly origin: string;
  /** A client of the server of now. */
  readonly client: ApiClient;
  backUp(): Backup;
  /** Another server takes the place of this one, with the state of the copy; undefined: with nothing but own Node. */
  replace(backup: Backup | undefined): Promise<void>;
  /** A second server that has stopped at a copy. Resolves with its URL; it ends with this one. */
  startLagging(backup: Backup): Promise<string>;
  /** The objects of the second server are those of now. */
  catchUp(): void;
  stop(): Promise<void>;
}

export async function startMemoryBackend(): Promise<MemoryBackend> {
  let api = createServer(1_000);
  let origin = await api.listen();
  let client = createClient(origin);
  let second: ApiServer | undefined;
  const backUp = (): Backup => ({
    resourceVersion: api.resourceVersion,
    objects: new Map(COLLECTIONS.map((name) => [name, api.list(name)])),
  });
  return {
    get api() {
      return api;
    },
    get origin() {
      return origin;
    },
    get client() {
      return client;
    },
    backUp,
    replace: async (backup) => {
      const last = api;
      const own = last.get('nodes', SELF);
      api = createServer(backup?.resourceVersion ?? 1);
      if (backup !== undefined) load(api, backup);
      else if (own !== undefined) api.create('nodes', own);
      origin = await api.listen();
      client.close();
      client = createClient(origin);
      await last.close();
    },
    startLagging: async (backup) => {
      await second?.close();
      second = createServer(backup.resourceVersion);
      load(second, backup);
      return await second.listen();
    },
    catchUp: () => {
      if (second === undefined) return;
      load(second, backUp());
      second.cutWatches();
    },
    stop: async () => {
      client.close();
      await api.close();
      await second?.close();
    },
  };
}

/** With bookmarks often, so that a watch has some in a short fault. */
function createServer(initialResourceVersion: number): ApiServer {
  return createApiServer({ bookmarkIntervalMs: 2_000, initialResourceVersion });
}

function createClient(server: string): ApiClient {
  return createApiClient({ server, ca: '', token: 'history' });
}

function load(into: ApiServer, { objects, resourceVersion }: Backup): void {
  for (const [name, list] of objects) into.restore(name, list, resourceVersion);
}
