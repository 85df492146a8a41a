import { type ApiServer, createApiServer } from '../../../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../../../fake-apiserver/kube-object.ts';
import { type ApiClient, createApiClient } from '../../../../harness/api-server/api.ts';
import { SELF } from '../wrapper-under-test.ts';
import { RELAY_NAMESPACE } from './relays.ts';

const COLLECTIONS = ['nodes', 'services', 'endpointslices'] as const;

/** A copy of all objects, as a backup of etcd. */
interface Backup {
  readonly resourceVersion: number;
  readonly objects: ReadonlyMap<(typeof COLLECTIONS)[number], readonly KubeObject[]>;
}

/** The API server in memory, with what only it can do. */
export type MemoryBackend = Awaited<ReturnType<typeof startMemoryBackend>>;

export async function startMemoryBackend() {
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
    /** Where requests go now, such as `http://127.0.0.1:1234`. */
    get origin() {
      return origin;
    },
    /** A client of the server of now. */
    get client() {
      return client;
    },
    backUp,
    /** Another server takes the place of this one, with the state of the copy; undefined: with own Node and relays. */
    replace: async (backup: Backup | undefined) => {
      const last = api;
      api = createServer(backup?.resourceVersion ?? 1);
      if (backup !== undefined) load(api, backup);
      else copyOwn(last, api);
      origin = await api.listen();
      client.close();
      client = createClient(origin);
      await last.close();
    },
    /** A second server that has stopped at a copy. Resolves with its URL; it ends with this one. */
    startLagging: async (backup: Backup) => {
      await second?.close();
      second = createServer(backup.resourceVersion);
      load(second, backup);
      return await second.listen();
    },
    /** The second server has the objects of now. */
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

/** What no history writes again. */
function copyOwn(from: ApiServer, to: ApiServer): void {
  for (const name of COLLECTIONS) {
    for (const object of from.list(name)) {
      const { name: own, namespace } = object.metadata;
      if (namespace === RELAY_NAMESPACE || own === SELF) to.create(name, object);
    }
  }
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
