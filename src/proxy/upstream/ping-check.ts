export interface PingCheckOptions {
  /** Number of bytes that the connection has received. */
  readonly bytesRead: () => number;
  /** Sends a PING; calls `onAck` when it is answered. */
  readonly ping: (onAck: () => void) => void;
  /** Called once, when the connection is dead, with the time since the last byte was seen, in milliseconds. */
  readonly onDead: (silentMs: number) => void;
  /** After this time without a byte, or up to an eighth of it later, a PING is sent, in milliseconds. */
  readonly quietMs: number;
  /** Time limit for the answer, in milliseconds. */
  readonly pingMs: number;
}

/** How often the bytes are counted in a quiet time. */
const LOOKS = 8;

/**
 * Finds out whether an HTTP/2 connection is alive. A quiet watch and a dead connection look the same.
 *
 *     listening ── LOOKS times no new byte ──▶ pinging ── no new byte in time ──▶ dead: onDead
 *         ▲                                       │
 *         └────────── answer, or any byte ────────┘
 *
 * Any byte is a sign of life. The bytes are counted now and then, because a clock read for each chunk costs more.
 */
export class PingCheck {
  readonly #options: PingCheckOptions;
  #timer: NodeJS.Timeout | undefined;
  #bytes: number;
  /** When the number of bytes was last found to have grown; monotonic. */
  #grownAt = performance.now();
  /** How often in a row the number of bytes was the same. */
  #silentLooks = 0;

  constructor(options: PingCheckOptions) {
    this.#options = options;
    this.#bytes = options.bytesRead();
    this.#listen();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #listen(): void {
    this.#schedule(this.#options.quietMs / LOOKS, () => {
      this.#silentLooks = this.#hasNewBytes() ? 0 : this.#silentLooks + 1;
      if (this.#silentLooks < LOOKS) this.#listen();
      else this.#ping();
    });
  }

  #ping(): void {
    this.#silentLooks = 0;
    const timer = this.#schedule(this.#options.pingMs, () => {
      // The event loop may have been blocked: bytes that have arrived meanwhile are read first.
      setImmediate(() => {
        if (this.#timer !== timer) return;
        if (this.#hasNewBytes()) this.#listen();
        else this.#options.onDead(performance.now() - this.#grownAt);
      });
    });
    this.#options.ping(() => {
      if (this.#timer !== timer) return;
      this.#hasNewBytes();
      this.#listen();
    });
  }

  #hasNewBytes(): boolean {
    const bytes = this.#options.bytesRead();
    const isMore = bytes !== this.#bytes;
    if (isMore) this.#grownAt = performance.now();
    this.#bytes = bytes;
    return isMore;
  }

  #schedule(ms: number, then: () => void): NodeJS.Timeout {
    clearTimeout(this.#timer);
    const timer = setTimeout(then, ms);
    timer.unref();
    this.#timer = timer;
    return timer;
  }
}
