import type { Logger } from 'pino';
import { type Backoff, createBackoff } from '../../util/backoff.ts';
import type { Clock } from '../../util/clock.ts';
import { OncePerCause } from '../../util/once-per-cause.ts';
import type { ContainerRuntime } from './container-runtime.ts';
import { type CorrectedEndpoint, Corrector, type CorrectorOptions } from './corrector.ts';
import { RuntimeFollower } from './runtime-follower.ts';

/** Whether the API server can be reached. */
export interface Reachability {
  isUnreachable(): boolean;
  /** Calls the listener when {@link isUnreachable} may have changed; returns how to unsubscribe. */
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
export type StageOptions = Omit<CorrectorOptions, 'nodeName' | 'onPodNames' | 'epoch'>;

const GRACE_MS = 3_000;
/** The kubelet reports its Pods within 10 s after the link returned, and the endpoints follow. */
const SETTLE_MS = 30_000;
/** The runtime is checked so often while nothing follows it, in milliseconds; sooner after a failure. */
const CHECK_MS = 60_000;

/**
 * - `connected`: the API server's state is shown; of the runtime only its version is read, as a check.
 * - `doubtful`: the API server is unreachable, but not for long enough.
 * - `cutOff`: endpoints of this node are corrected from the container runtime.
 * - `returning`: the API server answers. What it sends is shown. Objects that it has not sent again stay corrected,
 *   because what it last sent of them is older than the corrections.
 */
export type LocalRuntimeState = 'connected' | 'doubtful' | 'cutOff' | 'returning';

/**
 * Corrects endpoints of this node from the container runtime while the API server is unreachable.
 *
 *     connected ──down──▶ doubtful ──graceMs──▶ cutOff ──up──▶ returning ──settleMs──▶ connected
 *         ▲                  │                     ▲              │
 *         └────────up────────┘                     └─────down─────┘
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
  /** Of `doubtful` and `returning`. */
  #cancelTimer: () => void = () => {};
  /** While `cutOff`. */
  #follower: RuntimeFollower | undefined;
  /** The next check. */
  #cancelCheck: () => void = () => {};
  #wasReached = false;
  #failures = 0;
  #isClosed = false;

  constructor(options: LocalRuntimeOptions) {
    this.#options = options;
    this.#unsubscribe = options.reachability.onChange(() => this.#reachabilityChanged());
    void this.#check(createBackoff({ baseMs: 2_000, maxMs: CHECK_MS }));
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

  /** The corrected endpoints of all views, each once: several views may show the same object. */
  get corrections(): CorrectedEndpoint[] {
    const all = [...this.#correctors].flatMap((each) => each.corrections());
    const unique = new Map(
      all.map((each) => [`${each.pod} ${each.object} ${each.from.address}`, each]),
    );
    return [...unique.values()];
  }

  /** Reads that failed since the start. */
  get failures(): number {
    return this.#failures;
  }

  /** Adds a stage before a handler of EndpointSlices or Endpoints. Remove it with {@link remove}. */
  add(stage: StageOptions): Corrector {
    const { nodeName, epoch = Date.now } = this.#options;
    const onPodNames = (): void => this.#follower?.wake();
    const corrector = new Corrector({ ...stage, nodeName, onPodNames, epoch });
    this.#correctors.add(corrector);
    return corrector;
  }

  remove(corrector: Corrector): void {
    this.#correctors.delete(corrector);
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#cancelTimer();
    this.#cancelCheck();
    this.#follower?.stop();
    this.#options.runtime.close();
    this.#correctors.clear();
  }

  #reachabilityChanged(): void {
    const isDown = this.#options.reachability.isUnreachable();
    const { graceMs = GRACE_MS, settleMs = SETTLE_MS } = this.#options;
    switch (this.#state) {
      case 'connected':
        if (isDown) this.#enter('doubtful', graceMs, () => this.#cutOff());
        break;
      case 'doubtful':
        if (!isDown) this.#enter('connected');
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
    this.#cancelTimer();
    this.#state = state;
    if (ms === undefined || onTime === undefined) return;
    this.#cancelTimer = this.#options.clock.after(ms, onTime);
  }

  #cutOff(): void {
    const { logger, socket, runtime, clock } = this.#options;
    this.#enter('cutOff');
    logger.warn(
      { socket },
      'the API server is unreachable: endpoints of this node are corrected from the container runtime',
    );
    this.#follower = new RuntimeFollower({
      runtime,
      clock,
      podNames: () => new Set([...this.#correctors].flatMap((each) => [...each.podNames()])),
      onPods: (pods) => {
        for (const corrector of this.#correctors) corrector.correct(pods);
      },
      onRead: (error) => this.#noteRead(error),
    });
  }

  #return(settleMs: number): void {
    this.#follower?.stop();
    this.#follower = undefined;
    for (const corrector of this.#correctors) corrector.hold();
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

  /** Reaches the runtime now and then, so that what is wrong shows before it is needed. A follower does so itself. */
  async #check(backoff: Backoff): Promise<void> {
    let waitMs = CHECK_MS;
    if (this.#follower === undefined) {
      const error = await this.#reach();
      if (this.#isClosed) return;
      // The node may have been cut off meanwhile.
      if (this.#follower === undefined) this.#noteRead(error);
      if (error === undefined) backoff.reset();
      else waitMs = backoff.next();
    }
    this.#cancelCheck = this.#options.clock.after(waitMs, () => void this.#check(backoff));
  }

  /** Resolves with why the runtime cannot be reached. */
  async #reach(): Promise<unknown> {
    const { runtime, logger, socket } = this.#options;
    try {
      const version = await runtime.version();
      if (!this.#wasReached) logger.info({ socket, version }, 'the container runtime answers');
      this.#wasReached = true;
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #noteRead(error: unknown): void {
    const { logger, socket } = this.#options;
    if (error === undefined) {
      if (this.#problems.succeed()) logger.info({ socket }, 'the container runtime answers again');
      return;
    }
    this.#failures++;
    // Without the code of gRPC: `[internal] Error: connect ENOENT …`.
    const err = String(error instanceof Error ? error.message : error).replace(
      /^\[\w+\] (Error: )?/,
      '',
    );
    if (!this.#problems.fail(err)) return;
    logger.warn(
      { socket, err },
      'the container runtime cannot be read: endpoints of this node are not corrected from now on; check the setting localRuntime and the rights of its socket',
    );
  }
}
