/*
 * A Kubernetes API server in memory, for the demo and the tests. A request crosses these files:
 *
 *   listener → request-handler → faults → route → read-requests, watch-registry or write-requests → store → wire
 *
 * store.ts keeps the objects and their history. wire.ts and protobuf-encode.ts encode them as a kube-apiserver does.
 */
import type { CollectionName } from './collections.ts';
import {
  Faults,
  type Refusal,
  type RefusalOptions,
  type RequestPredicate,
  type SeenRequest,
} from './faults.ts';
import type { KubeObject } from './kube-object.ts';
import { createListener, type ListenerTls } from './listener.ts';
import { type LoadOptions, loadYaml } from './load-yaml.ts';
import { createRequestHandler, type Logger } from './request-handler.ts';
import { Store } from './store.ts';
import { type ExpiredAnswer, type OpenWatch, WatchRegistry } from './watch-registry.ts';

/** Settings of {@link createApiServer}. */
export interface ApiServerOptions {
  /** Default: silent. */
  readonly logger?: Logger;
  /** Milliseconds between the bookmarks of a watch. Default 60,000, as an API server. */
  readonly bookmarkIntervalMs?: number;
  /** Changes kept per collection, from which watches can continue. Default 1000. */
  readonly windowSize?: number;
  /** The resourceVersion before the first write. Default 1, as for an empty etcd. */
  readonly initialResourceVersion?: number;
  /** Listens over TLS. Default: plain http. */
  readonly tls?: ListenerTls | undefined;
  /**
   * The user of a bearer token (undefined: the request has no token); true: accepted as anonymous, false: 401.
   * Default: always true.
   */
  readonly authenticate?: (token: string | undefined) => boolean | string;
}

/**
 * A Kubernetes API server in memory: LIST, WATCH, streaming list and GET in JSON and protobuf, writes over HTTP and as
 * calls, and faults that a client must survive. It has no authorization and no controllers, and validates only what its
 * clients rely on.
 *
 * Objects are plain, frozen JSON. A namespaced object is named `namespace/name`; in the namespace `default` also
 * `name`. The store outlives the listener, so `close` and then `listen` simulate an outage.
 */
export interface ApiServer {
  /** Starts to listen and returns the URL. Port 0: any free port. */
  listen(port?: number, host?: string): Promise<string>;
  /** Ends the watches, answers the delayed requests, and resolves when no connection is left. */
  close(): Promise<void>;

  /** The newest version. */
  readonly resourceVersion: number;
  /** Creates an object. All writes throw a StatusError (404, 409, 422). */
  create(collection: CollectionName, object: KubeObject): KubeObject;
  /** Replaces an object; its uid stays. With a resourceVersion, only if it is the current one. */
  update(collection: CollectionName, object: KubeObject): KubeObject;
  /** Applies a JSON merge patch. */
  patch(collection: CollectionName, name: string, patch: Record<string, unknown>): KubeObject;
  /** Deletes an object and returns its last state. */
  delete(collection: CollectionName, name: string): KubeObject;
  get(collection: CollectionName, name: string): KubeObject | undefined;
  /** All objects, ordered by namespace and name. */
  list(collection: CollectionName): KubeObject[];
  /** Sets a Node's label, or removes it with null. */
  label(node: string, key: string, value: string | null): KubeObject;
  /** Sets a Service's annotation, or removes it with null. */
  annotate(service: string, key: string, value: string | null): KubeObject;
  /**
   * Creates or replaces the objects of YAML documents and Lists. Returns their number. Throws an Error that names the
   * invalid document; then nothing is written.
   */
  loadYaml(text: string, options?: LoadOptions): number;
  /** Replaces a collection by the list of another server, with its uids and versions. Clears the history. */
  restore(
    collection: CollectionName,
    objects: readonly KubeObject[],
    resourceVersion: number,
  ): void;

  /**
   * Clears the history. From now on a watch from an older version gets an ERROR event 410 in a 200 stream (`event`) or
   * HTTP 410 (`status`). The default is `event`, as in an API server.
   */
  compact(answer?: ExpiredAnswer): void;
  /** Destroys the connections of all open watches. */
  cutWatches(): void;
  /** Stops open watches from sending, with connections left open. Call the returned function to continue. */
  freezeWatches(): () => void;
  /**
   * Answers matching requests with an HTTP status code and its Status, or with the given Status, until the returned
   * function is called. `undefined` removes the refusals with the same predicate.
   */
  refuse(
    predicate: RequestPredicate,
    refusal: Refusal | undefined,
    options?: RefusalOptions,
  ): () => void;
  /** Delays the answers to matching requests until the returned function is called. */
  hold(predicate: RequestPredicate): () => void;
  /** The latest 10,000 requests, oldest first. */
  readonly requests: readonly SeenRequest[];
  /** The watches that are open, oldest first. */
  openWatches(): OpenWatch[];
}

/** Creates a server. It does not listen until {@link ApiServer.listen}. */
export function createApiServer(options: ApiServerOptions = {}): ApiServer {
  const { windowSize = 1000, initialResourceVersion = 1, bookmarkIntervalMs = 60_000 } = options;
  const store = new Store({ windowSize, initialResourceVersion });
  const faults = new Faults();
  const watches = new WatchRegistry(store, bookmarkIntervalMs);
  const authenticate = options.authenticate ?? (() => true);
  const handler = createRequestHandler({
    store,
    faults,
    watches,
    authenticate,
    logger: options.logger,
  });
  return {
    ...createListener(
      handler,
      {
        opening: () => watches.reopen(),
        closing: () => {
          watches.closeAll();
          faults.releaseAll();
        },
      },
      options.tls,
    ),
    ...storeAccess(store),
    ...faultHooks(store, faults, watches),
    // Getters last: a spread would freeze their value.
    get resourceVersion() {
      return store.resourceVersion;
    },
    get requests() {
      return faults.requests;
    },
  };
}

type StoreAccess = Pick<
  ApiServer,
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'get'
  | 'list'
  | 'label'
  | 'annotate'
  | 'loadYaml'
  | 'restore'
>;

function storeAccess(store: Store): StoreAccess {
  return {
    create: (collection, object) => store.create(collection, object),
    update: (collection, object) => store.update(collection, object),
    patch: (collection, name, patch) => store.patch(collection, name, patch),
    delete: (collection, name) => store.delete(collection, name),
    get: (collection, name) => store.get(collection, name),
    list: (collection) => store.list(collection),
    label: (node, key, value) =>
      store.patch('nodes', node, { metadata: { labels: { [key]: value } } }),
    annotate: (service, key, value) =>
      store.patch('services', service, { metadata: { annotations: { [key]: value } } }),
    loadYaml: (text, options) => loadYaml(store, text, options),
    restore: (collection, objects, resourceVersion) =>
      store.restore(collection, objects, resourceVersion),
  };
}

type FaultHooks = Pick<
  ApiServer,
  'compact' | 'cutWatches' | 'freezeWatches' | 'refuse' | 'hold' | 'openWatches'
>;

function faultHooks(store: Store, faults: Faults, watches: WatchRegistry): FaultHooks {
  return {
    compact: (answer = 'event') => {
      watches.expiredAnswer = answer;
      store.compact();
    },
    cutWatches: () => watches.cut(),
    freezeWatches: () => watches.freeze(),
    refuse: (predicate, refusal, options = {}) => faults.refuse(predicate, refusal, options),
    hold: (predicate) => faults.hold(predicate),
    openWatches: () => watches.list(),
  };
}
