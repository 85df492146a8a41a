import type { PingCheck } from './ping-check.ts';

export interface HealthCheckOptions {
  /** Health-checks the server on a new connection; resolves with whether it answered. Never rejects. */
  readonly probe: () => Promise<boolean>;
  /**
   * Called when the server does not answer. No byte was received since before `checkedAt` (monotonic), for `silentMs`
   * milliseconds in all.
   */
  readonly onDead: (checkedAt: number, silentMs: number) => void;
  /** After this time without a byte the server is checked, in milliseconds; default 25,000. */
  readonly quietMs?: number;
}

const QUIET_MS = 25_000;

/**
 * Finds out whether a server with open requests over HTTP/1.1 is alive. A quiet watch and a dead server look the same,
 * and bookmarks come only once a minute. Connections of HTTP/2 have a {@link PingCheck}.
 *
 *     no request ── first request ──▶ quiet time ── 25 s without a byte ──▶ checking
 *         ▲                               ▲                                   │
 *         └── last request ended ─────────┴── answered, or dead: onDead ──────┘
 *
 * Any byte of any request restarts the quiet time. A check takes at most 10 s more (see ServerProbe), so that a server
 * that hangs, or a path that drops packets, is found within 35 s. Cost: a few dozen `GET /version` an hour, because
 * watches get an event or a bookmark about once a minute, and never more than 144.
 */
export class HealthCheck {
  readonly #options: HealthCheckOptions;
  readonly #quietMs: number;
  #lastByteAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #requests = 0;

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    this.#quietMs = options.quietMs ?? QUIET_MS;
  }

  /** Records that a request was sent. */
  onRequestStart(): void {
    if (this.#requests++ > 0) return;
    this.#lastByteAt = performance.now();
    this.#schedule();
  }

  /** Records that a request has ended. */
  onRequestEnd(): void {
    if (--this.#requests === 0) clearTimeout(this.#timer);
  }

  /** Records that the server has sent something. */
  onBytes(): void {
    this.#lastByteAt = performance.now();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const wait = this.#lastByteAt + this.#quietMs - performance.now();
    this.#timer = setTimeout(() => void this.#check(), Math.max(0, wait));
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    if (this.#requests === 0) return;
    const checkedAt = performance.now();
    if (checkedAt - this.#lastByteAt >= this.#quietMs) {
      const answered = await this.#options.probe();
      // Bytes of another request show as much as the answer does.
      const isAlive = answered || this.#lastByteAt > checkedAt;
      if (!isAlive && this.#requests > 0) {
        this.#options.onDead(checkedAt, performance.now() - this.#lastByteAt);
      }
      this.#lastByteAt = Math.max(this.#lastByteAt, checkedAt);
    }
    if (this.#requests > 0) this.#schedule();
  }
}
