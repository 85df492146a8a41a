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

  /** Waits until one more request may be sent. Rejects with the reason of the signal. */
  async request(signal: AbortSignal): Promise<void> {
    for (let wait = this.#requests.take(); wait > 0; wait = this.#requests.take()) {
      await waitFor(wait, this.#clock, signal);
    }
  }

  /** Waits until one more list may be sent. Rejects with the reason of the signal. */
  async list(signal: AbortSignal): Promise<void> {
    for (let wait = this.#lists.waitMs; wait > 0; wait = this.#lists.waitMs) {
      await waitFor(wait, this.#clock, signal);
    }
  }

  /** A list has begun to arrive. */
  onList(): void {
    this.#lists.take();
  }
}
