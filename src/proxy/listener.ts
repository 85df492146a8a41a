import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { WrapperError } from '../errors.ts';
import type { Encoding } from '../filter/codec.ts';
import { NODES } from '../filter/resource.ts';
import type { View } from '../filter/view.ts';
import { answerBody, answerError, type Codecs } from './answer.ts';
import { negotiate } from './media-type.ts';
import type { Passthrough } from './passthrough.ts';
import type { Question } from './question.ts';
import { parseReadOptions, type ReadOptions } from './read-options.ts';
import { parseTarget, type Target } from './target.ts';
import { readList, readObject, startWatch, type WatchTimes } from './view-response.ts';
import type { ViewLease } from './views.ts';
import type { Watcher } from './watcher.ts';

export interface ListenerOptions {
  /** Loopback address to listen on; see {@link assertLoopback}. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly nodeName: string;
  readonly codecs: Codecs;
  readonly acquire: (question: Question) => ViewLease;
  readonly passthrough: Pick<Passthrough, 'forward' | 'refuseUpgrade'>;
  /** How long a request waits for its view to be complete, in milliseconds. */
  readonly readyWaitMs: number;
  readonly times: WatchTimes;
  readonly logger: Logger;
}

/** Idle connections are kept longer than Go's 90 s, so that the client closes first and no request is lost. */
const KEEP_ALIVE_MS = 120_000;
/** How long an open connection may take to end after the listener closes, in milliseconds. */
const CLOSE_MS = 2_000;

/**
 * The loopback http listener: reads what kube-proxy may read from views, passes on the events it writes, and
 * refuses all else. It lends the wrapper's identity to nobody: callers cannot be told apart here, so that
 * whatever is granted is granted to any process on the node.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #watchers = new Set<Watcher>();
  #requests = 0;
  #closing = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      void this.#handle(request, response);
    });
    this.#server.on('upgrade', (_request, socket) => options.passthrough.refuseUpgrade(socket));
    this.#server.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    });
  }

  /** Number of open watches. */
  get watches(): number {
    return this.#watchers.size;
  }

  /** Starts to listen; returns the URL. Rejects when the address is taken. */
  async listen(): Promise<string> {
    const { host, port } = this.#options;
    assertLoopback(host);
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    const address = this.#server.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    return `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound}`;
  }

  /** Stops accepting, ends the watches so that clients reconnect, and waits for what is under way. */
  async close(): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const watcher of this.#watchers) watcher.end();
    this.#server.closeIdleConnections();
    const force = setTimeout(() => this.#server.closeAllConnections(), CLOSE_MS);
    await closed;
    clearTimeout(force);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reqId = ++this.#requests;
    const { codecs, logger } = this.#options;
    if (this.#closing) response.shouldKeepAlive = false;
    try {
      const { path, query } = readUrl(request);
      const target = parseTarget(path);
      if (target.kind === 'events') return this.#passEvents(request, response, target);
      const encoding = negotiate(request.headers.accept);
      await this.#read(request, response, encoding, target, query);
    } catch (error) {
      const resource = request.url;
      if (error instanceof WrapperError) {
        logger.info({ reqId, verb: request.method, resource, err: error.message }, 'refused');
      } else {
        logger.error({ reqId, verb: request.method, resource, err: error }, 'failed');
      }
      answerError(request, response, codecs, error);
    }
  }

  #passEvents(
    request: IncomingMessage,
    response: ServerResponse,
    target: Extract<Target, { kind: 'events' }>,
  ): void {
    const { method } = request;
    const create = method === 'POST' && target.name === '';
    const update = (method === 'PATCH' || method === 'PUT') && target.name !== '';
    if (!create && !update) throw forbidden(request);
    this.#options.passthrough.forward(request, response);
  }

  async #read(
    request: IncomingMessage,
    response: ServerResponse,
    encoding: Encoding,
    target: Target,
    query: URLSearchParams,
  ): Promise<void> {
    if (target.kind === 'other' || target.kind === 'events') throw forbidden(request);
    if (request.method !== 'GET') throw wrongVerb(request);
    const options = parseReadOptions(query);
    const question = this.#questionOf(target, options, encoding);
    const lease = this.#options.acquire(question);
    response.once('close', () => lease.release());
    await this.#ready(lease.view, response, question);
    if (response.closed) return;
    if (target.kind === 'object') {
      answerBody(response, encoding, readObject(lease.view, target, options));
    } else if (options.watch) {
      this.#watch(lease.view, response, options);
    } else {
      answerBody(response, encoding, readList(lease.view, options));
    }
  }

  #watch(view: View, response: ServerResponse, options: ReadOptions): void {
    const watcher = startWatch(view, response, options, this.#options.times);
    this.#watchers.add(watcher);
    response.once('close', () => this.#watchers.delete(watcher));
    if (this.#closing) watcher.end();
  }

  /** The question whose view holds the answer. Of Nodes only this one may be read. */
  #questionOf(
    target: Extract<Target, { kind: 'collection' | 'object' }>,
    options: ReadOptions,
    encoding: Encoding,
  ): Question {
    const { resource, namespace } = target;
    const { labelSelector, fieldSelector } = options;
    const own = `metadata.name=${this.#options.nodeName}`;
    if (target.kind === 'object') {
      if (labelSelector !== '' || fieldSelector !== '' || options.watch) {
        throw new WrapperError('BadRequest', 'one object is read without selectors and watch');
      }
      if (resource !== NODES) {
        // All of the namespace: a decision about one slice needs its siblings.
        return { resource, namespace, labelSelector: '', fieldSelector: '', encoding };
      }
    }
    const asksOwn =
      target.kind === 'object' ? target.name === this.#options.nodeName : fieldSelector === own;
    if (resource === NODES && !asksOwn) {
      throw new WrapperError(
        'Forbidden',
        `of all nodes only this one can be read here: fieldSelector=${own}`,
      );
    }
    if (resource === NODES) {
      return { resource, namespace, labelSelector, fieldSelector: own, encoding };
    }
    return { resource, namespace, labelSelector, fieldSelector, encoding };
  }

  /** Waits until the view is complete: never a partial one. Throws `NotReady`. */
  async #ready(view: View, response: ServerResponse, question: Question): Promise<void> {
    if (view.started) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        const name = question.resource.plural;
        reject(new WrapperError('NotReady', `${name} are not synced yet; see /readyz for why`));
        stop();
      }, this.#options.readyWaitMs);
      const done = (): void => {
        resolve();
        stop();
      };
      const stopWaiting = view.whenStarted(done);
      const stop = (): void => {
        clearTimeout(timer);
        stopWaiting();
        response.off('close', done);
      };
      response.once('close', done);
    });
  }
}

/**
 * Throws `InvalidSettings` unless an address is a loopback one. Callers bring no credentials over plain
 * http, so that anywhere else the wrapper's identity would be lent to the network.
 */
export function assertLoopback(host: string): void {
  const loopback = (isIP(host) === 4 && host.startsWith('127.')) || host === '::1';
  if (loopback) return;
  throw new WrapperError(
    'InvalidSettings',
    `cannot listen on ${JSON.stringify(host)}: plain http is served on loopback only; use 127.0.0.1 or ::1`,
  );
}

/** The path is taken as it was sent: URL would resolve dot segments before anybody looks at them. */
function readUrl({ url = '' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = ''] = url.split('?', 1);
  return { path, query: new URLSearchParams(url.slice(path.length + 1)) };
}

function forbidden({ method, url }: IncomingMessage): WrapperError {
  return new WrapperError(
    'Forbidden',
    `${method} ${url?.slice(0, 200)} is not among what kube-proxy needs, so it is not passed on`,
  );
}

/** Writes are understood and not granted; other methods are no verbs of these collections. */
function wrongVerb(request: IncomingMessage): WrapperError {
  if (/^(POST|PUT|PATCH|DELETE)$/.test(request.method ?? '')) return forbidden(request);
  return new WrapperError('MethodNotAllowed', `${request.method} is no verb of this collection`);
}
