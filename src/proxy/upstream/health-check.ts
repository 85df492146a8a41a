export interface HealthCheckOptions {
  /** Asks the server on a new connection; resolves with whether it answered. Never rejects. */
  readonly probe: () => Promise<boolean>;
  /** The server does not answer any more: ends the requests that have heard nothing since `since` (monotonic). */
  readonly onDead: (since: number) => void;
  /** After this long without a byte the server is asked, in milliseconds; default 25,000. */
  readonly quietMs?: number;
}

const QUIET_MS = 25_000;

/**
 * Finds out whether a server with open requests is still there. A quiet watch and a dead server look the
 * same, and bookmarks come only once a minute.
 *
 * Any byte of any request is a sign of life. After 25 s without one the server is asked for its version, on a
 * new connection: that takes it at most 10 s more (see upstream), so that a server that hangs, and one behind
 * a path that drops packets, is found within 35 s. What it costs: with watches that get an event or a
 * bookmark about once a minute each, a few dozen such requests an hour, and never more than 144, each of
 * which the API server answers from memory.
 */
export class HealthCheck {
  readonly #options: HealthCheckOptions;
  readonly #quietMs: number;
  #heardAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #requests = 0;

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    this.#quietMs = options.quietMs ?? QUIET_MS;
  }

  /** A request is open. */
  opened(): void {
    if (this.#requests++ > 0) return;
    this.#heardAt = performance.now();
    this.#arm();
  }

  /** A request has ended. */
  ended(): void {
    if (--this.#requests === 0) clearTimeout(this.#timer);
  }

  /** A byte came from the server. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const wait = this.#heardAt + this.#quietMs - performance.now();
    this.#timer = setTimeout(() => void this.#check(), Math.max(0, wait));
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    if (this.#requests === 0) return;
    const asked = performance.now();
    if (asked - this.#heardAt >= this.#quietMs) {
      const answered = await this.#options.probe();
      // What was asked for meanwhile, and got bytes, shows as much as the answer does.
      const alive = answered || this.#heardAt > asked;
      if (!alive && this.#requests > 0) this.#options.onDead(asked);
      this.#heardAt = Math.max(this.#heardAt, asked);
    }
    if (this.#requests > 0) this.#arm();
  }
}
