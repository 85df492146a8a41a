import { type ApiServer, createApiServer } from '../../../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../../../fake-apiserver/kube-object.ts';
import { StatusError } from '../../../../fake-apiserver/kube-status.ts';
import { SELF } from '../wrapper-under-test.ts';

/** Names of the collections that are written. */
export type WrittenCollection = 'nodes' | 'services' | 'endpointslices';

/** A copy of all objects, as a backup of etcd. */
export interface Backup {
  readonly resourceVersion: number;
  readonly objects: ReadonlyMap<WrittenCollection, readonly KubeObject[]>;
}

/** The API server in memory, with what only it can do. */
export interface MemoryBackend {
  readonly api: ApiServer;
  /** Where requests go now, such as `http://127.0.0.1:1234`. */
  readonly origin: string;
  /** Creates or replaces. */
  put(collection: WrittenCollection, object: KubeObject): void;
  delete(collection: WrittenCollection, name: string): void;
  backUp(): Backup;
  /** Another server takes the place of this one, with the state of the copy; undefined: with nothing but own Node. */
  replace(backup: Backup | undefined): Promise<void>;
  /** A second server that has stopped at a copy. Resolves with its URL; it ends with this one. */
  startLagging(backup: Backup): Promise<string>;
  /** The objects of the second server are those of now. */
  catchUp(): void;
  stop(): Promise<void>;
}

const COLLECTIONS: readonly WrittenCollection[] = ['nodes', 'services', 'endpointslices'];
/** Often, so that a watch has bookmarks in a short fault. */
const BOOKMARK_MS = 2_000;

export async function startMemoryBackend(): Promise<MemoryBackend> {
  let api = createApiServer({ bookmarkIntervalMs: BOOKMARK_MS, initialResourceVersion: 1_000 });
  let origin = await api.listen();
  let second: ApiServer | undefined;
  const backUp = (): Backup => ({
    resourceVersion: api.resourceVersion,
    objects: new Map(COLLECTIONS.map((name) => [name, api.list(name)])),
  });
  const load = (into: ApiServer, { objects, resourceVersion }: Backup): void => {
    for (const [name, list] of objects) into.restore(name, list, resourceVersion);
  };
  return {
    get api() {
      return api;
    },
    get origin() {
      return origin;
    },
    put: (collection, object) => put(api, collection, object),
    delete: (collection, name) => remove(api, collection, name),
    backUp,
    replace: async (backup) => {
      const last = api;
      const own = last.get('nodes', SELF);
      api = createApiServer({
        bookmarkIntervalMs: BOOKMARK_MS,
        initialResourceVersion: backup?.resourceVersion ?? 1,
      });
      if (backup !== undefined) load(api, backup);
      else if (own !== undefined) api.create('nodes', own);
      origin = await api.listen();
      await last.close();
    },
    startLagging: async (backup) => {
      await second?.close();
      second = createApiServer({
        bookmarkIntervalMs: BOOKMARK_MS,
        initialResourceVersion: backup.resourceVersion,
      });
      load(second, backup);
      return await second.listen();
    },
    catchUp: () => {
      if (second === undefined) return;
      load(second, backUp());
      second.cutWatches();
    },
    stop: async () => {
      await api.close();
      await second?.close();
    },
  };
}

function put(api: ApiServer, collection: WrittenCollection, object: KubeObject): void {
  const present = api.get(collection, object.metadata.name);
  if (present === undefined) api.create(collection, object);
  else api.update(collection, object);
}

function remove(api: ApiServer, collection: WrittenCollection, name: string): void {
  try {
    api.delete(collection, name);
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 404) throw error;
  }
}
