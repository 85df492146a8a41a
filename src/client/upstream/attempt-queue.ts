import type { Clock } from '../../util/clock.ts';
import { abortable } from '../../util/linked-abort-controller.ts';

/** The first attempts after a failure, in milliseconds: most interruptions are short. */
const FIRST_MS = [200, 500] as const;
/** Later ones: a part of the outage's length, within these bounds, in milliseconds. */
const MIN_MS = 1_500;
const MAX_MS = 5_000;
const PART_OF_OUTAGE = 1 / 60;
/** Once the API server answers, the queries of this node are spread over this time, in milliseconds. */
const SPREAD_MS = 250;

/**
 * Queries that wait for the API server. While the queue is closed, one after another gets its turn: after 0.2 s,
 * 0.5 s, and then every 1.5 s, or every 5 s in an outage of many minutes. Up to half of each pause is removed at
 * random, so that the nodes of a cluster do not try in step. When it opens, all are released within a quarter of a
 * second.
 *
 *     open ── close ──▶ closed ── every pause: the first in the queue gets its turn ──┐
 *      ▲                  │  ▲                                                         │
 *      └───── open ───────┘  └─────────────────────────────────────────────────────────┘
 *
 * An attempt that hangs does not hold up the next one: on a path that drops packets a new connection helps.
 */
export class AttemptQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #waiting = new Set<() => void>();
  /** Undefined: open. Times are monotonic, in milliseconds. */
  #closed: { readonly since: number; attempts: number; nextAt: number } | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(options: { readonly clock: Clock; readonly random: () => number }) {
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** Closes the queue, unless it is closed. @param since when the outage began; monotonic */
  close(since: number): void {
    if (this.#closed !== undefined) return;
    this.#closed = { since, attempts: 0, nextAt: 0 };
    this.#scheduleNext(this.#closed);
  }

  /** Opens the queue and releases all. */
  open(): void {
    this.#closed = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const release of this.#waiting) this.#clock.after(this.#random() * SPREAD_MS, release);
    this.#waiting.clear();
  }

  /** Resolves when it is the caller's turn, or the queue is open. Rejects with the reason of the signal. */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#closed === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    this.#startTimer();
    try {
      await abortable(promise, signal);
    } finally {
      this.#waiting.delete(resolve);
    }
  }

  #startTimer(): void {
    const closed = this.#closed;
    if (closed === undefined || this.#cancelTimer !== undefined || this.#waiting.size === 0) return;
    const wait = Math.max(0, closed.nextAt - this.#clock.now());
    this.#cancelTimer = this.#clock.after(wait, () => {
      this.#cancelTimer = undefined;
      const [first] = this.#waiting;
      if (first === undefined) return;
      this.#waiting.delete(first);
      closed.attempts++;
      this.#scheduleNext(closed);
      first();
      this.#startTimer();
    });
  }

  #scheduleNext(closed: { readonly since: number; attempts: number; nextAt: number }): void {
    const now = this.#clock.now();
    const part = (now - closed.since) * PART_OF_OUTAGE;
    const pause = FIRST_MS[closed.attempts] ?? Math.min(MAX_MS, Math.max(MIN_MS, part));
    closed.nextAt = now + pause * (0.5 + 0.5 * this.#random());
  }
}
