import type { Logger } from 'pino';
import type { Clock } from '../../util/clock.ts';
import { least } from '../../util/extremes.ts';
import { messageOf } from '../../util/message-of.ts';
import { OncePerCause } from '../../util/once-per-cause.ts';
import { waitFor } from '../../util/wait-for.ts';
import type { ContainerRuntime } from './container-runtime.ts';
import { type CorrectedCount, Corrector, type CorrectorOptions } from './corrector.ts';
import { RuntimeReader } from './runtime-reader.ts';

/*
 * The room local-runtime: what is true of endpoints of this node while the API server is unreachable. It reads the
 * container runtime, and never changes anything in it.
 *   local-runtime.ts      when endpoints are corrected
 *   corrector.ts          corrects the objects of one view
 *   correct-endpoint.ts   corrects one endpoint
 *   runtime-reader.ts     reads Pods; local-pods.ts: what it found
 *   cri-client.ts         the client of the runtime (CRI); container-runtime.ts: what is read of it
 */

/** Whether the API server can be reached. */
export interface Reachability {
  /** It is unreachable. */
  readonly isCutOff: boolean;
  /** Calls the listener when {@link isCutOff} may have changed; returns how to unsubscribe. */
  onChange(listener: () => void): () => void;
}

export interface LocalRuntimeOptions {
  /** Path of the runtime's socket, for messages. */
  readonly socket: string;
  readonly runtime: ContainerRuntime;
  readonly reachability: Reachability;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The API server must be unreachable for this long before endpoints are corrected, in milliseconds. */
  readonly graceMs?: number;
  /** Corrections of objects that the API server has not sent again remain for this long, in milliseconds. */
  readonly settleMs?: number;
  /** Milliseconds since the epoch; default: Date.now. */
  readonly epoch?: () => number;
}

/** What differs between the views that are corrected. */
export type StageOptions = Omit<CorrectorOptions, 'nodeName' | 'epoch'>;

const CUT_OFF_GRACE_MS = 3_000;
/** The kubelet reports its Pods within 10 s after the link returned, and the endpoints follow. */
const KUBELET_SETTLE_MS = 30_000;
/** Time between two reads of the Pods while cut off, in milliseconds. Some runtimes send no events. */
const READ_MS = 1_000;
/** Time between two checks whether the runtime answers, at all other times, in milliseconds. */
const CHECK_MS = 60_000;
/** The first and the longest time between two reads of which the first one failed, in milliseconds. */
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;

/**
 * - `connected`: the API server's state is shown, also while it is unreachable for less than graceMs. Of the runtime
 *   only its version is read, as a check.
 * - `cutOff`: endpoints of this node are corrected from the container runtime.
 * - `returning`: the API server answers. What it sends is shown. Objects that it has not sent again stay corrected,
 *   because what it last sent of them is older than the corrections.
 */
export type LocalRuntimeState = 'connected' | 'cutOff' | 'returning';

/**
 * Corrects endpoints of this node from the container runtime while the API server is unreachable.
 *
 *     connected ──down for graceMs──▶ cutOff ──up──▶ returning ──settleMs──▶ connected
 *                                       ▲               │
 *                                       └─────down──────┘
 *
 * A view that has no list and no watch yet when settleMs have passed, as over a slow link, waits as long again.
 *
 * There is one {@link Corrector} for each view of endpoints. A runtime that does not answer changes nothing: the
 * last corrections remain, or what the API server last sent.
 */
export class LocalRuntime {
  readonly #options: LocalRuntimeOptions;
  readonly #correctors = new Set<Corrector>();
  readonly #unsubscribe: () => void;
  readonly #problems = new OncePerCause();
  #state: LocalRuntimeState = 'connected';
  /** The end of graceMs or of settleMs, if one of them runs. */
  #cancelTimer: (() => void) | undefined;
  /** Ends the reads of the runtime. */
  #polling = new AbortController();
  #wasReached = false;
  #failures = 0;

  constructor(options: LocalRuntimeOptions) {
    this.#options = options;
    this.#unsubscribe = options.reachability.onChange(() => this.#reachabilityChanged());
    this.#poll(CHECK_MS, () => this.#check());
    this.#reachabilityChanged();
  }

  get state(): LocalRuntimeState {
    return this.#state;
  }

  /** Path of the runtime's socket. */
  get socket(): string {
    return this.#options.socket;
  }

  /** Why the runtime could not be read; undefined: it could, or it was not tried yet. */
  get problem(): string | undefined {
    return this.#problems.cause;
  }

  /** The corrected endpoints of all views. An object counts once: several views may show it. */
  get corrected(): CorrectedCount {
    const objects = new Map<string, CorrectedCount>();
    for (const corrector of this.#correctors) {
      for (const [object, corrected] of corrector.counts()) objects.set(object, corrected);
    }
    const counts = [...objects.values()];
    return {
      count: counts.reduce((sum, { count }) => sum + count, 0),
      since: least(counts.map(({ since }) => since)),
    };
  }

  /** Reads that failed since the start. */
  get failures(): number {
    return this.#failures;
  }

  /** Adds a stage before a handler of EndpointSlices or Endpoints. Remove it with {@link remove}. */
  add(stage: StageOptions): Corrector {
    const { nodeName, epoch = Date.now } = this.#options;
    const corrector = new Corrector({ ...stage, nodeName, epoch });
    this.#correctors.add(corrector);
    return corrector;
  }

  remove(corrector: Corrector): void {
    this.#correctors.delete(corrector);
  }

  close(): void {
    this.#unsubscribe();
    this.#cancelTimer?.();
    this.#polling.abort();
    this.#options.runtime.close();
    this.#correctors.clear();
  }

  #reachabilityChanged(): void {
    const isDown = this.#options.reachability.isCutOff;
    const { graceMs = CUT_OFF_GRACE_MS, settleMs = KUBELET_SETTLE_MS } = this.#options;
    switch (this.#state) {
      case 'connected':
        if (!isDown) this.#enter('connected');
        else if (this.#cancelTimer === undefined) {
          this.#enter('connected', graceMs, () => this.#cutOff());
        }
        break;
      case 'cutOff':
        if (!isDown) this.#return(settleMs);
        break;
      case 'returning':
        if (isDown) this.#cutOff();
        break;
    }
  }

  #enter(state: LocalRuntimeState, ms?: number, onTime?: () => void): void {
    this.#cancelTimer?.();
    this.#state = state;
    this.#cancelTimer =
      ms === undefined || onTime === undefined ? undefined : this.#options.clock.after(ms, onTime);
  }

  #cutOff(): void {
    const { logger, socket, runtime } = this.#options;
    this.#enter('cutOff');
    logger.warn(
      { socket },
      'the API server is unreachable: endpoints of this node are corrected from the container runtime',
    );
    const reader = new RuntimeReader(runtime);
    this.#poll(READ_MS, (signal) => this.#correct(reader, signal));
  }

  #return(settleMs: number): void {
    this.#poll(CHECK_MS, () => this.#check());
    for (const corrector of this.#correctors) corrector.stopCorrecting();
    this.#enter('returning', settleMs, () => this.#settle(settleMs));
    this.#options.logger.info('the API server answers again: its state replaces the corrections');
  }

  /** Ends the corrections of each view that has the API server's state again. The others wait once more. */
  #settle(settleMs: number): void {
    const current = [...this.#correctors].filter((corrector) => corrector.isCurrent);
    for (const corrector of current) corrector.restore();
    if (current.length === this.#correctors.size) this.#enter('connected');
    else this.#enter('returning', settleMs, () => this.#settle(settleMs));
  }

  /** Reads the runtime now, and again and again until the next call or the close. At most one read is under way. */
  #poll(everyMs: number, read: (signal: AbortSignal) => Promise<void>): void {
    this.#polling.abort();
    this.#polling = new AbortController();
    void this.#repeat(everyMs, read, this.#polling.signal);
  }

  async #repeat(
    everyMs: number,
    read: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      let waitMs = everyMs;
      try {
        await read(signal);
        if (signal.aborted) return;
        retryMs = FIRST_RETRY_MS;
        this.#answered();
      } catch (error) {
        if (signal.aborted) return;
        waitMs = retryMs * (0.5 + 0.5 * Math.random());
        retryMs = Math.min(retryMs * 2, Math.max(everyMs, MAX_RETRY_MS));
        this.#failed(error);
      }
      await waitFor(waitMs, this.#options.clock, signal).catch(() => undefined);
    }
  }

  /** Corrects the endpoints of this node. What is read after the abort is dropped. */
  async #correct(reader: RuntimeReader, signal: AbortSignal): Promise<void> {
    const isNamed = (pod: string) => [...this.#correctors].some((each) => each.names(pod));
    const pods = await reader.read(isNamed);
    if (signal.aborted) return;
    for (const corrector of this.#correctors) corrector.correct(pods);
  }

  /** Only checks that the runtime answers, so that what is wrong shows before it is needed. */
  async #check(): Promise<void> {
    const { runtime, logger, socket } = this.#options;
    const version = await runtime.version();
    if (!this.#wasReached) logger.info({ socket, version }, 'the container runtime answers');
    this.#wasReached = true;
  }

  #answered(): void {
    const { logger, socket } = this.#options;
    if (this.#problems.succeed()) logger.info({ socket }, 'the container runtime answers again');
  }

  #failed(error: unknown): void {
    const { logger, socket } = this.#options;
    this.#failures++;
    // Without the code of gRPC: `[internal] Error: connect ENOENT …`.
    const err = messageOf(error).replace(/^\[\w+\] (Error: )?/, '');
    if (!this.#problems.fail(err)) return;
    logger.warn(
      { socket, err },
      'the container runtime cannot be read: Pods that start again now are not seen, and corrections made so far stay; check the setting localRuntime and the rights of its socket',
    );
  }
}
