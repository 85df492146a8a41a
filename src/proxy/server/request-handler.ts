import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Encoding } from '../../filter/codec/codec.ts';
import { NODES } from '../../filter/codec/resource.ts';
import type { View } from '../../filter/view/view.ts';
import { parseReadOptions, type ReadOptions } from '../api/list-options.ts';
import { negotiate } from '../api/media-type.ts';
import type { Question } from '../api/query.ts';
import { parseTarget, type Target } from '../api/request-info.ts';
import { readUrl } from '../api/request-url.ts';
import type { Gate, ReadAttributes } from '../auth/access-policy.ts';
import { notGranted } from '../auth/loopback-access.ts';
import {
  assertNotImpersonating,
  attributesOf,
  type ViewTarget,
} from '../auth/resource-attributes.ts';
import { type DoorBounds, refuseSocket } from '../http/http-errors.ts';
import { Door, type DoorAddress } from '../http/http-listener.ts';
import { type RefusalLog, reasonOf } from '../http/refusal-log.ts';
import { answerBody, answerError, type Codecs } from '../http/respond.ts';
import type { ServerCertificate } from '../http/server-certificate.ts';
import type { Patience } from '../http/write-timeout.ts';
import { ANYONE, type Holder } from '../views/view-budget.ts';
import type { ViewLease } from '../views/view-registry.ts';
import { readList, readObject, startWatch, type WatchTimes } from './view-response.ts';
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
  /** Logs and counts what is refused; default: one of its own. */
  readonly refusals?: RefusalLog;
  readonly logger: Logger;
}

/** Answers clients: reads from views, and the rest as the gate has it. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #door: Door;
  readonly #watchers = new Set<Watcher>();
  #stalled = 0;
  #closing = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#door = new Door({
      ...options,
      onRequest: (request, response) => {
        this.#handle(request, response).catch((error: unknown) => {
          // Not even an error could be told: that ends this request, and nothing else.
          this.#refused(request, error);
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

  /** Ends the watches with a bookmark, so that clients reconnect; one that still comes ends likewise. */
  endWatches(): void {
    this.#closing = true;
    for (const watcher of this.#watchers) watcher.end();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { codecs, gate } = this.#options;
    try {
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
      this.#refused(request, error);
      answerError(request, response, codecs, error);
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    try {
      this.#options.gate.upgrade(request, socket, head);
    } catch (error) {
      this.#refused(request, error);
      refuseSocket(socket, error);
    }
  }

  #refused({ method: verb, url: resource }: IncomingMessage, error: unknown): void {
    const { name: listener } = this.#options;
    const request = { ...{ listener, verb, resource }, reason: reasonOf(error) };
    if (error instanceof WrapperError) {
      this.#door.refusals.record({ ...request, message: error.message });
    } else {
      const message = 'an error of the wrapper itself';
      this.#door.refusals.record({ ...request, message, level: 'error', err: error });
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
      this.#watch(lease.view, response, options);
    } else {
      answerBody(response, encoding, readList(lease.view, options), this.#patience(response));
    }
  }

  #watch(view: View, response: ServerResponse, options: ReadOptions): void {
    const times = { ...this.#options.times, ...this.#patience(response) };
    const watcher = startWatch(view, response, options, times);
    this.#watchers.add(watcher);
    response.once('close', () => this.#watchers.delete(watcher));
    if (this.#closing) watcher.end();
  }

  #patience(response: ServerResponse): Patience {
    return { stallMs: this.#options.stallMs, onStalled: () => this.#stalledBy(response) };
  }

  #stalledBy({ req }: ServerResponse): void {
    this.#stalled++;
    this.#door.refusals.record({
      ...{ listener: this.#options.name, reason: 'StalledClient', level: 'warn' },
      message: 'a client has taken nothing for stalledClientSeconds: its connection is ended',
      client: `${req.socket.remoteAddress} ${req.headers['user-agent'] ?? ''}`,
      resource: req.url,
    });
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
