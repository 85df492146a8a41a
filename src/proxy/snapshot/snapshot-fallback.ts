import { REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';
import type { Upstream } from '../upstream/upstream.ts';

export interface SnapshotFallbackOptions {
  readonly upstream: Pick<Upstream, 'serverState' | 'leaveServer'>;
  /** How long a server may be unreachable, in milliseconds. */
  readonly graceMs: number;
  /** Called at most once, when the API server counts as unreachable, or its list is too large. */
  readonly onUnusable: () => void;
}

/** How long a server may send nothing after it has accepted a connection, in milliseconds. */
const SILENCE_MS = 10_000;
/** The grace time when another query has found the API server unreachable, in milliseconds. */
const KNOWN_UNREACHABLE_MS = 200;

/**
 * Decides, before the first list of a query, whether the API server is unreachable, so that the snapshot is used.
 *
 *     waiting ── the list has arrived, or is not needed ──────────────────▶ over
 *        │ │ └── the list exceeds a limit ─────────────── use the disk ──▶ over
 *        │ └──── no contact in time, no other server ──── use the disk ──▶ over
 *        └────── no contact in time: another server, which has its own time
 *
 * The time of a server begins with the first attempt to list from it, and again after each answer that is not a list:
 *
 *     while                            it ends
 *     an attempt has no connection     after the grace time
 *     a connection or a list is open   after the silence since the last part of a response; after the grace time if
 *                                      there is another server
 *     the next attempt is waited for   after the grace time, if the last one was an outage
 *
 * Invariant: while the API server answers, nothing from disk is shown. A list in progress is an answer, however
 * slow the link. So is a refusal with a Status (401, 403, …): the snapshot does not show what the API server denies.
 * So is 504 because the API server is behind our version. A list that exceeds a limit is not, because waiting does not
 * help, and no other server has less.
 */
export class SnapshotFallback {
  readonly #options: SnapshotFallbackOptions;
  /** The last attempt to list from the server in use; none: there was no attempt, or it was answered. */
  #attempt: 'none' | 'sent' | 'outage' = 'none';
  /** When the time of that server began; monotonic. */
  #since = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SnapshotFallbackOptions) {
    this.#options = options;
  }

  /** A request for the first list is sent. */
  listStarted(): void {
    if (this.#attempt === 'none') this.#since = performance.now();
    this.#attempt = 'sent';
    this.#check();
  }

  /** The request failed. */
  failed(end: RequestEnd): void {
    const { snapshot } = REQUEST_ENDS[end];
    if (snapshot === 'at once') this.#useDisk();
    // Otherwise a server has failed that is no longer in use.
    else if (this.#attempt === 'sent') this.#attempt = snapshot === 'outage' ? 'outage' : 'none';
    this.#check();
  }

  /** The list has arrived, or is not needed. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /** Acts when the time of the server has ended, else waits for that. */
  #check(): void {
    clearTimeout(this.#timer);
    if (this.#isOver || this.#attempt === 'none') return;
    const { upstream, graceMs } = this.#options;
    const { serverState } = upstream;
    const { lastContactAt, isGivenUp, condition } = serverState;
    const now = performance.now();
    // The connection may be older than the attempt, and quiet while the API server answers others.
    const isConnected =
      this.#attempt === 'sent' &&
      (now - lastContactAt < SILENCE_MS || condition.name === 'reachable');
    const from = isConnected ? Math.max(this.#since, lastContactAt) : this.#since;
    // If other queries have waited already, this one only makes an attempt.
    const grace = isGivenUp && !isConnected ? KNOWN_UNREACHABLE_MS : graceMs;
    if (now < from + grace) {
      this.#checkIn(from + grace - now);
    } else if (upstream.leaveServer(this.#since)) {
      this.#attempt = 'none';
    } else if (isConnected && now < from + SILENCE_MS) {
      this.#checkIn(from + SILENCE_MS - now);
    } else {
      serverState.giveUp();
      this.#useDisk();
    }
  }

  #checkIn(ms: number): void {
    this.#timer = setTimeout(() => this.#check(), ms);
  }

  #useDisk(): void {
    if (this.#isOver) return;
    this.end();
    this.#options.onUnusable();
  }
}
