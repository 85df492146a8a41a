import type { Logger } from 'pino';
import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import type { ReflectorOptions } from '../../../src/client/reflector/reflector-options.ts';
import { ServerState } from '../../../src/client/upstream/server-state.ts';
import type { UpstreamRequest, UpstreamResponse } from '../../../src/client/upstream/upstream.ts';
import type { UpstreamBody } from '../../../src/client/upstream/upstream-body.ts';
import { WrapperError } from '../../../src/errors.ts';
import type { ObjectMeta } from '../../../src/filter/codec/codec.ts';
import type { Clock } from '../../../src/util/clock.ts';
import { abortable } from '../../../src/util/linked-abort-controller.ts';

/** A request as the server receives it. */
export interface SimulatedRequest {
  /** Time of the clock, in milliseconds. */
  readonly at: number;
  /** Path without parameters: names the query. */
  readonly path: string;
  readonly verb: 'list' | 'watch' | 'check';
  readonly version: string | null;
}

/** An answer; a number of milliseconds after which the connection fails; or undefined: the healthy answer. */
export type SimulatedAnswer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body: Answered }
  | { readonly failsAfter: number }
  | undefined;

/** Lines of the body, and how it ends. */
interface Answered {
  readonly lines: readonly (object | string)[];
  readonly end: 'closed' | 'reset' | 'open';
}

const JSON_TYPE = { 'content-type': 'application/json' };

type Served = ReflectorOptions<ObjectMeta>['upstream'];

/**
 * An API server without sockets, whose time is a clock: one object per collection, whose value is a version. It keeps
 * its rules: 410 for a compacted version, 504 for one that it has not reached.
 */
export class SimulatedServer implements Served {
  address = 'simulated';
  readonly serverState: ServerState;
  readonly requests: SimulatedRequest[] = [];
  /** Lists that were answered with 200. */
  readonly listed: SimulatedRequest[] = [];
  /** Replaces the healthy answers. */
  fault: (request: SimulatedRequest) => SimulatedAnswer = () => undefined;
  version = 10;
  /** A watch from an older version gets 410. */
  compacted = 0;
  readonly #clock: Clock;
  readonly #open = new Set<Body>();

  constructor(options: { clock: Clock; random: () => number; logger: Logger }) {
    this.#clock = options.clock;
    this.serverState = new ServerState(options);
  }

  /** The object of this path changes; default: each object. */
  change(path?: string): void {
    this.version++;
    for (const body of this.#open) {
      if (path === undefined || body.path === path) body.push(event('MODIFIED', this.version));
    }
  }

  /** Every watch fails. */
  cut(): void {
    for (const body of [...this.#open]) body.fail(new WrapperError('Unreachable', 'reset'));
  }

  /** Every watch ends as its timeout would end it. */
  end(): void {
    for (const body of [...this.#open]) body.finish();
  }

  async request({ path, signal }: UpstreamRequest): Promise<UpstreamResponse> {
    const url = new URL(path, 'http://x');
    const { searchParams } = url;
    const isCheck = searchParams.get('fieldSelector')?.includes('metadata.name=') === true;
    const verb = isCheck ? 'check' : searchParams.has('watch') ? 'watch' : 'list';
    const request: SimulatedRequest = {
      at: this.#clock.now(),
      path: url.pathname,
      verb,
      version: searchParams.get('resourceVersion'),
    };
    this.requests.push(request);
    const answer = this.fault(request);
    if (answer !== undefined && 'failsAfter' in answer) {
      const failed = new Promise<never>((_, reject) => {
        const error = new WrapperError('Unreachable', 'ECONNREFUSED');
        this.#clock.after(answer.failsAfter, () => reject(error));
      });
      return abortable(failed, signal ?? new AbortController().signal);
    }
    await Promise.resolve();
    return this.#respond(request, answer ?? this.#healthy(request), signal);
  }

  #respond(
    request: SimulatedRequest,
    answer: Exclude<SimulatedAnswer, undefined | { readonly failsAfter: number }>,
    signal: AbortSignal | undefined,
  ): UpstreamResponse {
    const { status, headers = JSON_TYPE, body: answered } = answer;
    if (request.verb === 'list' && status === 200 && headers === JSON_TYPE)
      this.listed.push(request);
    const note = (): void => {
      if (status === 200) this.serverState.reportContact();
    };
    note();
    const { address } = this;
    const body = new Body(request.path, note, () => this.#open.delete(body));
    signal?.addEventListener('abort', () => body.fail(signal.reason), { once: true });
    for (const line of answered.lines) body.push(line);
    if (answered.end === 'closed') body.finish();
    else if (answered.end === 'reset') body.fail(new WrapperError('Unreachable', 'ECONNRESET'));
    else this.#open.add(body);
    const report = (end: RequestEnd): void => this.serverState.reportAnswer(end);
    return { statusCode: status, headers, address, isRelay: this.isRelay, body, report };
  }

  #healthy({ verb, version }: SimulatedRequest) {
    const { version: current } = this;
    const wanted = Number(version ?? 0);
    if (verb === 'watch') {
      if (wanted < this.compacted) return refusal(410);
      const missed = Array.from({ length: Math.max(0, current - wanted) }, (_, n) =>
        event('MODIFIED', wanted + n + 1),
      );
      return { status: 200, body: { lines: missed, end: 'open' as const } };
    }
    if (wanted > current) return behind();
    return list(current, [object(current)]);
  }

  readonly waitsForRelays = false;
  readonly inUseSince = Number.NEGATIVE_INFINITY;

  reportNoSnapshot(): void {}

  leaveServer(): boolean {
    return false;
  }

  isRelay = false;

  get relaySince(): number | undefined {
    return this.isRelay ? 0 : undefined;
  }

  /** Until when the first lists may be slow; see Failover. */
  relayBootsUntil = Number.NEGATIVE_INFINITY;

  leaveRelay(_since: number): void {}
}

export function object(version: number): object {
  const metadata = { name: 'it', uid: 'u', resourceVersion: String(version) };
  return { kind: 'Service', metadata };
}

export function event(type: string, version: number): object {
  return { type, object: object(version) };
}

export function bookmark(version: number): object {
  return {
    type: 'BOOKMARK',
    object: { kind: 'Service', metadata: { resourceVersion: String(version) } },
  };
}

export function list(version: number, items: readonly object[]) {
  const body = { kind: 'ServiceList', metadata: { resourceVersion: String(version) }, items };
  return { status: 200, body: { lines: [body], end: 'closed' as const } };
}

export function refusal(status: number, headers: Record<string, string> = {}) {
  const body = { kind: 'Status', code: status, reason: 'Refused', message: 'no' };
  return {
    status,
    headers: { ...JSON_TYPE, ...headers },
    body: { lines: [body], end: 'closed' as const },
  };
}

/** As NewTooLargeResourceVersionError in apiserver storage/errors.go. */
export function behind() {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  const body = { kind: 'Status', code: 504, reason: 'Timeout', message: 'x', details: { causes } };
  const headers = { ...JSON_TYPE, 'retry-after': '1' };
  return { status: 504, headers, body: { lines: [body], end: 'closed' as const } };
}

/** A body that is pushed by the server. */
class Body implements UpstreamBody {
  readonly path: string;
  readonly #note: () => void;
  readonly #onEnd: () => void;
  readonly #chunks: Buffer[] = [];
  #use: ((chunks: readonly Buffer[]) => void) | undefined;
  readonly #ended = Promise.withResolvers<void>();

  constructor(path: string, note: () => void, onEnd: () => void) {
    this.path = path;
    this.#note = note;
    this.#onEnd = onEnd;
    this.#ended.promise.catch(() => undefined);
  }

  push(line: object | string): void {
    this.#chunks.push(Buffer.from(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`));
    try {
      this.#deliver();
    } catch (error) {
      this.fail(error);
    }
  }

  finish(): void {
    this.#onEnd();
    this.#ended.resolve();
  }

  fail(error: unknown): void {
    this.#onEnd();
    this.#ended.reject(error);
  }

  destroy(): void {
    this.fail(new Error('destroyed'));
  }

  async *[Symbol.asyncIterator]() {
    this.#note();
    await this.#ended.promise;
    yield* this.#chunks;
  }

  async read(use: (chunks: readonly Buffer[]) => void): Promise<void> {
    this.#use = use;
    this.#deliver();
    await this.#ended.promise;
  }

  #deliver(): void {
    if (this.#use === undefined || this.#chunks.length === 0) return;
    this.#note();
    this.#use(this.#chunks.splice(0));
  }
}
