import { REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';
import type { ServerState } from '../upstream/server-state.ts';

export interface SnapshotFallbackOptions {
  readonly serverState: ServerState;
  /** How long the API server may be unreachable, in milliseconds. */
  readonly graceMs: number;
  /** How long it may send nothing after it has accepted a connection, in milliseconds; default 10,000. */
  readonly silenceMs?: number;
  /** Gives up the server in use, silent since then (monotonic). Returns whether another one is tried now. */
  readonly leaveServer: (since: number) => boolean;
  /** Called at most once, when the API server counts as unreachable, or its list is too large. */
  readonly onUnusable: () => void;
}

/**
 * - `waiting`: the server in use is tried; when its time is up, another one is used, if there is one.
 * - `lastWait`: when the time of this one is up, the API server is unreachable.
 * - `ended`: the list has arrived, or the API server is unreachable.
 */
type State = 'waiting' | 'lastWait' | 'ended';

/** A list that was sent and has neither arrived nor failed. */
interface Attempt {
  /** Monotonic, in milliseconds. */
  readonly since: number;
  /** It went to the server before the one in use, so that its failure is not held against this one. */
  readonly toEarlierServer: boolean;
}

const SILENCE_MS = 10_000;
/** The grace time when another query has found the API server unreachable, in milliseconds. */
const KNOWN_UNREACHABLE_MS = 200;

/**
 * Decides, before the first list of a query, whether the API server is unreachable, so that the snapshot is used.
 *
 *     waiting ── time is up: another server is tried ──▶ lastWait ── time is up ──▶ ended
 *     any state ── the list has arrived ──────────────────────────────────────────▶ ended
 *
 * Time is up after the grace time without an accepted connection, or with nothing but failures, foreign answers, 429
 * and 5xx.
 * A server that accepts a connection and then sends nothing gets `silenceMs` in `lastWait`, which is enough to
 * prepare a large list.
 *
 * A list that exceeds a limit ends each state immediately, because it is not an answer that can be used.
 *
 * Invariant: while the API server answers, nothing from disk is shown. A list in progress is an answer, however
 * slow the link. So is a refusal with a Status (401, 403, …): the snapshot does not show what the API server denies.
 * So is 504 because the API server is behind our version.
 */
export class SnapshotFallback {
  readonly #options: SnapshotFallbackOptions;
  #state: State = 'waiting';
  #attempt: Attempt | undefined;
  /** The server in use: since when it is tried (monotonic), and how the last request ended. */
  #server: { readonly since: number; readonly end: RequestEnd | undefined };
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SnapshotFallbackOptions) {
    this.#options = options;
    this.#server = { since: performance.now(), end: undefined };
  }

  /** A request for the first list is sent. */
  listStarted(): void {
    this.#attempt = { since: performance.now(), toEarlierServer: false };
    this.#proceed();
  }

  /** The request failed. */
  failed(end: RequestEnd): void {
    // The API server answers, but its list exceeds a limit: waiting does not help, and no other server has less.
    if (REQUEST_ENDS[end].snapshot === 'at once' && this.#state !== 'ended') {
      this.end();
      this.#options.onUnusable();
      return;
    }
    if (this.#attempt?.toEarlierServer !== true) this.#server = { ...this.#server, end };
    this.#attempt = undefined;
    this.#proceed();
  }

  /** The list has arrived, or is not needed. */
  end(): void {
    this.#state = 'ended';
    clearTimeout(this.#timer);
  }

  /** Moves on when the time of the server is up, else waits for that. */
  #proceed(): void {
    if (this.#state === 'ended') return;
    clearTimeout(this.#timer);
    const due = this.#due();
    if (due === undefined) return;
    const wait = due - performance.now();
    if (wait > 0) this.#timer = setTimeout(() => this.#proceed(), wait);
    else if (this.#state === 'waiting') this.#leaveServer();
    else this.#giveUp();
  }

  #leaveServer(): void {
    this.#state = 'lastWait';
    if (this.#options.leaveServer(this.#server.since)) {
      const since = performance.now();
      this.#server = { since, end: undefined };
      if (this.#attempt !== undefined) this.#attempt = { since, toEarlierServer: true };
    }
    this.#proceed();
  }

  #giveUp(): void {
    this.end();
    this.#options.serverState.giveUp();
    this.#options.onUnusable();
  }

  /** When the time of the server is up; undefined: nothing to wait for until the next attempt. */
  #due(): number | undefined {
    const { serverState, silenceMs = SILENCE_MS } = this.#options;
    const { graceMs: wholeMs } = this.#options;
    // Other queries have waited already. This one still makes an attempt, and a list that arrives has the whole time.
    const isArriving =
      this.#attempt !== undefined && serverState.lastContactAt > this.#attempt.since;
    const graceMs = serverState.isGivenUp && !isArriving ? KNOWN_UNREACHABLE_MS : wholeMs;
    if (this.#attempt !== undefined) {
      const isSilent =
        this.#state === 'lastWait' && performance.now() - serverState.lastContactAt <= silenceMs;
      return (
        Math.max(this.#attempt.since, serverState.lastContactAt) + (isSilent ? silenceMs : graceMs)
      );
    }
    const { since, end } = this.#server;
    const isOutage = end !== undefined && REQUEST_ENDS[end].snapshot === 'outage';
    return isOutage ? since + graceMs : undefined;
  }
}
