import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WrapperError } from '../errors.ts';
import type { Encoding } from '../filter/codec.ts';
import { NODES } from '../filter/resource.ts';
import type { View } from '../filter/view.ts';
import type { Gate, ReadAttributes } from './access.ts';
import { assertNotImpersonating, attributesOf, type ViewTarget } from './access-attributes.ts';
import { notGranted } from './access-loopback.ts';
import { answerBody, answerError, type Codecs } from './answer.ts';
import { Door, type DoorAddress } from './door.ts';
import { type DoorBounds, refuseSocket } from './door-refusal.ts';
import { assertUnambiguous } from './host-check.ts';
import type { ServerCertificate } from './https-certificate.ts';
import { negotiate } from './media-type.ts';
import type { Question } from './question.ts';
import { parseReadOptions, type ReadOptions } from './read-options.ts';
import { readUrl } from './request-url.ts';
import type { Patience } from './stall.ts';
import type { Succession } from './succession.ts';
import { parseTarget, type Target } from './target.ts';
import { ANYONE, type Holder } from './view-budget.ts';
import { readList, readObject, sendOn, startWatch, type WatchTimes } from './view-response.ts';
import type { ViewLease } from './views.ts';
import type { Watcher } from './watcher.ts';

export interface ListenerOptions {
  /** Name of the setting with the address, for messages. */
  readonly name: string;
  readonly address: DoorAddress;
  /** For https; absent: plain http. */
  readonly certificate?: ServerCertificate;
  /** Throws for an inherited socket that may not be served. */
  readonly assertHost?: (host: string) => void;
  /** Who is let in, and to what. */
  readonly gate: Gate;
  readonly bounds: DoorBounds;
  readonly nodeName: string;
  readonly codecs: Codecs;
  readonly acquire: (question: Question, caller: Holder) => ViewLease;
  /** How long a request waits for its view to be complete, in milliseconds. */
  readonly readyWaitMs: number;
  readonly times: WatchTimes;
  /** A client that takes nothing of an answer for this long is given up, in milliseconds. */
  readonly stallMs: number;
  /** How long idle connections are kept after the close, in milliseconds; see {@link Door.close}. */
  readonly drainMs: number;
  /** Knows which versions of the process before are good here; absent: none are. */
  readonly succession?: Pick<Succession, 'settled'>;
  readonly logger: Logger;
}

/** So many different clients are logged to be stalled, each once. */
const MAX_STALLED = 100;

/** Answers clients: reads from views, and the rest as the gate has it. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #door: Door;
  readonly #watchers = new Set<Watcher>();
  /** Clients that were logged to be stalled. */
  readonly #stalledClients = new Set<string>();
  #stalled = 0;
  #requests = 0;
  #closing = false;
  #inherited = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#door = new Door({
      ...options,
      onRequest: (request, response) => {
        this.#handle(request, response).catch((error: unknown) => {
          // Not even an error could be told: that ends this request, and nothing else.
          options.logger.error({ verb: request.method, err: error }, 'failed');
          response.destroy();
        });
      },
      onUpgrade: (request, socket, head) => this.#upgrade(request, socket, head),
    });
  }

  /** Name of the setting with its address. */
  get name(): string {
    return this.#options.name;
  }

  /** Number of open watches. */
  get watches(): number {
    return this.#watchers.size;
  }

  /** Answers that were broken off because their client took nothing, since the start. */
  get stalled(): number {
    return this.#stalled;
  }

  get door(): Pick<Door, 'connections' | 'refused'> {
    return this.#door;
  }

  /** Starts to listen; returns the URL. Rejects with `InvalidSettings` when the address is taken. */
  async listen(): Promise<string> {
    return this.#door.listen();
  }

  /** Stops accepting, which `stopped` hears of, and waits for what is under way. */
  async close(stopped: () => void): Promise<void> {
    await this.#door.close(this.#options.drainMs, stopped);
  }

  /**
   * Ends the watches so that clients reconnect.
   *
   * @param inherited another process goes on with them, and knows what clients have seen here so far: they
   *   shall see nothing more
   */
  endWatches(inherited: boolean): void {
    this.#closing = true;
    this.#inherited = inherited;
    for (const watcher of this.#watchers) watcher.end();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reqId = ++this.#requests;
    const { codecs, logger, gate } = this.#options;
    try {
      assertUnambiguous(request);
      const caller = gate.admit(request);
      const { path, query } = readUrl(request);
      const target = parseTarget(path);
      if (gate.isPassedOn(request, path, target, query)) {
        gate.pass(request, response, caller, target);
        return;
      }
      const encoding = negotiate(request.headers.accept);
      const read = this.#readOf(request, target, query, encoding);
      await gate.assertMayRead(caller, read.attributes);
      const holder = caller.kind === 'anyone' ? ANYONE : caller.id;
      if (!response.closed) await this.#read(response, read, holder);
    } catch (error) {
      const resource = request.url?.slice(0, 200);
      if (error instanceof WrapperError) {
        logger.info({ reqId, verb: request.method, resource, err: error.message }, 'refused');
      } else {
        logger.error({ reqId, verb: request.method, resource, err: error }, 'failed');
      }
      answerError(request, response, codecs, error);
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    try {
      assertUnambiguous(request);
      this.#options.gate.upgrade(request, socket, head);
    } catch (error) {
      const { message } = WrapperError.from(error, 'BadRequest');
      this.#options.logger.info(
        { resource: request.url?.slice(0, 200), err: message },
        'upgrade refused',
      );
      refuseSocket(socket, error);
    }
  }

  /** What is asked for. Throws for what no view answers. */
  #readOf(
    request: IncomingMessage,
    target: Target,
    query: URLSearchParams,
    encoding: Encoding,
  ): Read {
    if (target.kind === 'other' || target.kind === 'events') throw notGranted(request);
    if (request.method !== 'GET') throw wrongVerb(request);
    assertNotImpersonating(request);
    const options = parseReadOptions(query);
    const question = this.#questionOf(target, options, encoding);
    return { target, options, question, attributes: attributesOf(target, options) };
  }

  async #read(
    response: ServerResponse,
    { target, options, question }: Read,
    holder: Holder,
  ): Promise<void> {
    const lease = this.#options.acquire(question, holder);
    response.once('close', () => lease.release());
    await this.#ready(lease.view, response, question);
    if (response.closed) return;
    const { encoding } = question;
    if (target.kind === 'object') {
      const pieces = readObject(lease.view, target, options);
      answerBody(response, encoding, pieces, this.#patience(response));
    } else if (options.watch) {
      await this.#knows(lease.view, options);
      if (response.closed) return;
      this.#watch(lease.view, response, options);
    } else {
      answerBody(response, encoding, readList(lease.view, options), this.#patience(response));
    }
  }

  #watch(view: View, response: ServerResponse, options: ReadOptions): void {
    const { version, sendInitialEvents } = options;
    if (this.#inherited && version !== undefined && sendInitialEvents !== true) {
      sendOn(view, response, version, options.allowWatchBookmarks);
      return;
    }
    const times = { ...this.#options.times, ...this.#patience(response) };
    const watcher = startWatch(view, response, options, times);
    this.#watchers.add(watcher);
    response.once('close', () => this.#watchers.delete(watcher));
    if (this.#closing) watcher.end();
  }

  #patience(response: ServerResponse): Patience {
    return { stallMs: this.#options.stallMs, onStalled: () => this.#stalledBy(response) };
  }

  /** Logs once for each client: one that hangs comes back, and hangs again. */
  #stalledBy({ req }: ServerResponse): void {
    this.#stalled++;
    const client = `${req.socket.remoteAddress} ${req.headers['user-agent'] ?? ''}`.slice(0, 200);
    if (this.#stalledClients.has(client) || this.#stalledClients.size >= MAX_STALLED) return;
    this.#stalledClients.add(client);
    const resource = req.url?.slice(0, 200);
    const said = 'a client has taken nothing for stalledClientSeconds: its connection is ended';
    this.#options.logger.warn({ client, resource }, said);
  }

  /** Waits, before a version is called unknown, for what the process before may have to say about it. */
  async #knows(view: View, { version, sendInitialEvents }: ReadOptions): Promise<void> {
    if (version === undefined || sendInitialEvents === true) return;
    if (view.log.positionAfter(version) !== undefined) return;
    await this.#options.succession?.settled();
  }

  /** The question whose view holds the answer. Of Nodes only this one may be read. */
  #questionOf(target: ViewTarget, options: ReadOptions, encoding: Encoding): Question {
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

  /**
   * Waits until the view is complete: never a partial one. Throws `NotReady`, or, when the view is not served, why: the
   * API server does not take the question, or there is no room.
   */
  async #ready(view: View, response: ServerResponse, question: Question): Promise<void> {
    if (view.refusal !== undefined) throw view.refusal;
    if (view.started) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        const name = question.resource.plural;
        reject(new WrapperError('NotReady', `${name} are not synced yet; see /readyz for why`));
        stop();
      }, this.#options.readyWaitMs);
      const done = (): void => {
        if (view.refusal === undefined) resolve();
        else reject(view.refusal);
        stop();
      };
      const stopWaiting = view.whenSettled(done);
      const stop = (): void => {
        clearTimeout(timer);
        stopWaiting();
        response.off('close', done);
      };
      response.once('close', done);
    });
  }
}

/** A read of a view, understood. */
interface Read {
  readonly target: ViewTarget;
  readonly options: ReadOptions;
  readonly question: Question;
  readonly attributes: ReadAttributes;
}

/** Writes are understood and not granted; other methods are no verbs of these collections. */
function wrongVerb(request: IncomingMessage): WrapperError {
  if (/^(POST|PUT|PATCH|DELETE)$/.test(request.method ?? '')) return notGranted(request);
  return new WrapperError('MethodNotAllowed', `${request.method} is no verb of this collection`);
}
