import type { Clock } from '../../util/clock.ts';
import { TokenBucket } from '../../util/token-bucket.ts';
import { waitFor } from '../../util/wait-for.ts';

/** At most five requests in any second, two in the long run. */
const REQUESTS = { burst: 3, refillMs: 500 };
/** One list in five seconds in the long run; a second one immediately, as after 410. */
const LISTS = { burst: 2, refillMs: 5_000 };

/**
 * Bounds the requests of one query, whatever the API server answers. Only whole lists that arrive count as lists: one
 * that is refused costs the API server little.
 */
export class QueryLimits {
  readonly #clock: Clock;
  readonly #requests: TokenBucket;
  readonly #lists: TokenBucket;

  constructor(clock: Clock) {
    this.#clock = clock;
    const now = (): number => clock.now();
    this.#requests = new TokenBucket({ ...REQUESTS, now });
    this.#lists = new TokenBucket({ ...LISTS, now });
  }

  /**
   * Waits until one more request may be sent. Rejects with the reason of the signal.
   *
   * @param isList it requests a whole list
   */
  async request(isList: boolean, signal: AbortSignal): Promise<void> {
    for (;;) {
      let waitMs = isList ? this.#lists.waitMs : 0;
      if (waitMs === 0) waitMs = this.#requests.take();
      if (waitMs === 0) return;
      await waitFor(waitMs, this.#clock, signal);
    }
  }

  /** A list has begun to arrive. */
  onList(): void {
    this.#lists.take();
  }
}
