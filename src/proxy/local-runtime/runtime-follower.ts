import { createBackoff } from '../../util/backoff.ts';
import type { Clock } from '../../util/clock.ts';
import type { ContainerRuntime } from './container-runtime.ts';
import type { LocalPods } from './local-pods.ts';
import { RuntimeReader } from './runtime-reader.ts';

/** Time between two reads of a runtime without events, in milliseconds. */
const POLL_MS = 1_500;
/** The same while events arrive: they may be lost. */
const EVENTS_POLL_MS = 10_000;
/** An event is often followed by others, in milliseconds. */
const SETTLE_MS = 100;
/** Longest time between two attempts of which the first one failed, in milliseconds. */
const MAX_RETRY_MS = 5_000;

export interface RuntimeFollowerOptions {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  /** The Pods to look up, as of now; see podName(). */
  readonly podNames: () => ReadonlySet<string>;
  readonly onPods: (pods: LocalPods) => void;
  /** Called after each read. @param error why the runtime could not be read; undefined: it was */
  readonly onRead: (error: unknown) => void;
}

/**
 * Follows the container runtime until it is stopped: reads it, and reads it again after an event, or after a while.
 *
 *     reading ── done, or failed ──▶ waiting ── event, wake(), time is up ──▶ reading
 *     any state ── stop() ──▶ stopped
 *
 * At most one read is under way. What it returns after stop() is dropped.
 */
export class RuntimeFollower {
  readonly #options: RuntimeFollowerOptions;
  readonly #reader: RuntimeReader;
  readonly #backoff = createBackoff({ baseMs: 500, maxMs: MAX_RETRY_MS });
  readonly #stopped = new AbortController();
  /** The events end with the follower, or earlier. */
  #hasEvents = false;
  /** An event or wake() came while a read was under way: it may have missed what they stand for. */
  #isOutdated = false;
  /** Ends the current wait; undefined: a read is under way. */
  #endWait: ((delayMs: number) => void) | undefined;

  constructor(options: RuntimeFollowerOptions) {
    this.#options = options;
    this.#reader = new RuntimeReader(options.runtime);
    void this.#followEvents();
    void this.#run();
  }

  /** Reads again soon. */
  wake(): void {
    this.#isOutdated = true;
    this.#endWait?.(SETTLE_MS);
  }

  stop(): void {
    this.#stopped.abort();
    this.#endWait?.(0);
  }

  async #followEvents(): Promise<void> {
    const { signal } = this.#stopped;
    const onEvent = (): void => {
      this.#hasEvents = true;
      this.wake();
    };
    await this.#options.runtime.events(onEvent, signal);
    this.#hasEvents = false;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#isOutdated = false;
      const wait = await this.#read();
      if (!signal.aborted) await this.#wait(this.#isOutdated ? SETTLE_MS : wait);
    }
  }

  /** Returns how long to wait until the next read, in milliseconds. */
  async #read(): Promise<number> {
    const { podNames, onPods, onRead } = this.#options;
    const { signal } = this.#stopped;
    try {
      const pods = await this.#reader.read(podNames());
      if (signal.aborted) return 0;
      this.#backoff.reset();
      onRead(undefined);
      onPods(pods);
      return this.#hasEvents ? EVENTS_POLL_MS : POLL_MS;
    } catch (error) {
      if (!signal.aborted) onRead(error);
      return this.#backoff.next();
    }
  }

  /** Waits, but at most as long as {@link wake} says from then on. */
  async #wait(ms: number): Promise<void> {
    const { clock } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    let cancel = clock.after(ms, resolve);
    let isShort = false;
    this.#endWait = (delayMs) => {
      if (isShort && delayMs > 0) return;
      isShort = true;
      cancel();
      cancel = clock.after(delayMs, resolve);
    };
    await promise;
    cancel();
    this.#endWait = undefined;
  }
}
