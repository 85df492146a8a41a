import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CachedObject } from './cached-object.ts';
import { isAccepted, kindOf, partialOf, pathOf, type ReadPath } from './edge-read.ts';
import { EdgeStore } from './edge-store.ts';
import { UpstreamApi, type UpstreamApiOptions } from './upstream-api.ts';

/** What differs between caches. */
export interface EdgeCacheOptions extends UpstreamApiOptions {
  /** It cannot cut the metadata out: `as=PartialObjectMetadata` is not acceptable to it. Default: it can. */
  readonly sendsWhole?: boolean;
  /** Lists from its own store say so by a selfLink, as MetaServer's do; default: they do. */
  readonly hasSelfLink?: boolean;
  /** Its lists have another object in place of one that watches bring, of the same version. Default: the same. */
  readonly inLists?: (object: CachedObject) => CachedObject;
}

interface OpenWatch {
  readonly read: ReadPath;
  readonly isPartial: boolean;
  readonly response: ServerResponse;
  /** Events up to this version are taken for known, and dropped. */
  readonly after: number;
  readonly sent: Set<string>;
}

/**
 * A cache of an edge platform in front of an API server, as an emulator. It does what KubeEdge's MetaServer was read to
 * do (edge/pkg/metamanager/metaserver, 2026-08): JSON over plain http; a list passes through to the API server, and
 * comes from its own store while that is away, with a kind made from the name of the collection; a watch begins with
 * everything that the store has, whatever version it names, and has no bookmarks; what is deleted while the API server
 * is away stays in the store.
 */
export class EdgeCache {
  readonly #options: EdgeCacheOptions;
  readonly #api: UpstreamApi;
  readonly #store = new EdgeStore();
  readonly #watches = new Set<OpenWatch>();
  readonly #server = createServer((request, response) => {
    void this.#answer(request, response).catch(() => response.destroy());
  });
  /** Collections with their selectors that are watched at the API server. */
  readonly #followed = new Map<string, ReadPath>();
  #following = new AbortController();
  #isConnected = true;
  /** Requests of clients, and how each was answered. */
  readonly requests: { readonly path: string; readonly accept: string }[] = [];

  constructor(options: EdgeCacheOptions) {
    this.#options = options;
    this.#api = new UpstreamApi(options);
  }

  /** Resolves with the URL. */
  async listen(host = '127.0.0.1'): Promise<string> {
    this.#server.listen(0, host);
    await once(this.#server, 'listening');
    return `http://${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#following.abort();
    this.#server.closeAllConnections();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }

  /** The API server is away. Clients notice nothing: their watches stay open. */
  disconnect(): void {
    this.#isConnected = false;
    this.#following.abort();
  }

  /** The API server is there again. Whatever exists is stored again; what was deleted meanwhile stays. */
  connect(): void {
    this.#isConnected = true;
    this.#following = new AbortController();
    for (const read of this.#followed.values()) this.#follow(read);
  }

  /** Ends all watches of clients, with an error as MetaServer has it. */
  endWatches(): void {
    const message = 'stop to watch sqlite/meta_v2';
    const object = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 500, message };
    for (const { response } of this.#watches) {
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { accept = '*/*' } = request.headers;
    const read = pathOf(request.url ?? '/');
    this.requests.push({ path: request.url ?? '', accept });
    const form = isAccepted(accept, this.#options.sendsWhole === true);
    if (form === undefined) {
      const only =
        'only the following media types are accepted: application/json, application/yaml';
      sendStatus(response, 406, 'NotAcceptable', only);
    } else if (read === undefined || request.method !== 'GET') {
      sendStatus(response, 500, 'InternalError', `request[${request.url}] isn't supported`);
    } else if (read.isWatch) {
      this.#watch(response, read, form === 'partial');
    } else {
      await this.#list(response, read, form === 'partial');
    }
  }

  async #list(response: ServerResponse, read: ReadPath, isPartial: boolean): Promise<void> {
    const listed = this.#isConnected ? await this.#api.list(read.listPath) : undefined;
    const { selfLink = '', ...list } = listed ?? this.#store.list(read);
    const kind = listed === undefined ? kindOf(read.plural) : listed.kind;
    const { inLists = (item) => item } = this.#options;
    const items = list.items.map((item) => (isPartial ? partialOf(item) : inLists(item)));
    const link = selfLink === '' || this.#options.hasSelfLink === false ? {} : { selfLink };
    const body = {
      apiVersion: isPartial ? 'meta.k8s.io/v1' : read.apiVersion,
      items,
      kind: isPartial ? 'PartialObjectMetadataList' : `${kind}List`,
      metadata: { resourceVersion: list.resourceVersion, ...link },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #watch(response: ServerResponse, read: ReadPath, isPartial: boolean): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (!this.#followed.has(read.followPath)) {
      this.#followed.set(read.followPath, read);
      if (this.#isConnected) this.#follow(read);
    }
    // MetaServer drops an event of the very next version too, which the next list of the wrapper shows.
    const after = this.#store.revision;
    const watch = { read, isPartial, response, after, sent: new Set<string>() };
    this.#watches.add(watch);
    for (const object of this.#store.list(read).items) this.#send(watch, 'ADDED', object);
    const timer = setTimeout(() => response.end(), read.timeoutSeconds * 1000);
    response.once('close', () => {
      clearTimeout(timer);
      this.#watches.delete(watch);
    });
  }

  #follow(read: ReadPath): void {
    const { signal } = this.#following;
    void this.#api.follow(read.followPath, signal, (type, object) => {
      this.#store.take(read.plural, type, object);
      for (const watch of this.#watches) {
        if (watch.read.plural !== read.plural) continue;
        if (Number(object.metadata.resourceVersion) > watch.after) this.#send(watch, type, object);
      }
    });
  }

  #send(watch: OpenWatch, type: string, object: CachedObject): void {
    const { read, isPartial, response, sent } = watch;
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    const isSent = sent.has(key);
    // The API server deletes with the last state that had matched: it is passed on even if it was never sent.
    const matches = read.matches(object);
    if (!matches && !isSent) return;
    const remains = matches && type !== 'DELETED';
    const seen = remains ? (isSent ? 'MODIFIED' : 'ADDED') : 'DELETED';
    if (remains) sent.add(key);
    else sent.delete(key);
    const shown = isPartial ? partialOf(object) : object;
    response.write(`${JSON.stringify({ type: seen, object: shown })}\n`);
  }
}

function sendStatus(response: ServerResponse, code: number, reason: string, message: string): void {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
  const body = JSON.stringify({ ...status, message, reason, code });
  response.writeHead(code, { 'content-type': 'application/json' }).end(body);
}
