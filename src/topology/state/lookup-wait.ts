import type { Clock } from '../../util/clock.ts';

/** A view waits so long for look-ups after the first answer, in milliseconds. */
const VIEW_WAIT_MS = 2_000;

/**
 * How long views wait for look-ups: until {@link VIEW_WAIT_MS} after they could start otherwise, and after the first
 * answer. That one has a limit of its own. Tenants invent more names than are answered by then, and the views of all
 * Namespaces wait.
 */
export class LookupWait {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #answeredAt = Number.POSITIVE_INFINITY;
  /** Since when a view could start, in milliseconds. */
  readonly #since = new WeakMap<object, number>();
  /** Undefined: no timer is set. */
  #cancelTimer: (() => void) | undefined;

  /** @param onOver called when a wait is over, for which {@link mustWait} was true */
  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /** A look-up was answered, or has failed. */
  answered(): void {
    this.#answeredAt = Math.min(this.#answeredAt, this.#clock.now());
  }

  /** Whether a view has to wait, while look-ups are open. */
  mustWait(view: object): boolean {
    const now = this.#clock.now();
    const since = this.#since.get(view) ?? now;
    this.#since.set(view, since);
    const leftMs = Math.max(since, this.#answeredAt) + VIEW_WAIT_MS - now;
    if (leftMs > 0 && Number.isFinite(leftMs)) this.#setTimer(leftMs);
    return leftMs > 0;
  }

  /** The view whose wait is over first sets it; others set it again. */
  #setTimer(delayMs: number): void {
    this.#cancelTimer ??= this.#clock.after(delayMs, () => {
      this.#cancelTimer = undefined;
      this.#onOver();
    });
  }

  close(): void {
    this.#cancelTimer?.();
  }
}
