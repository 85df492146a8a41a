import type { WrapperError } from '../../errors.ts';
import type { Reachability } from '../upstream/reachability.ts';
import { isTooLargeVersion } from '../upstream/upstream-error.ts';

export interface SnapshotFallbackOptions {
  readonly reach: Reachability;
  /** How long the API server may be out of reach, in milliseconds. */
  readonly graceMs: number;
  /** How long it may say nothing once it has accepted a connection, in milliseconds; default 10,000. */
  readonly patienceMs?: number;
  /** Whether the server in use answers after all, or another one is used in its place now; never rejects. */
  readonly search: () => Promise<boolean>;
  /** Called at most once, when it is taken for out of reach. */
  readonly onCutOff: () => void;
}

const PATIENCE_MS = 10_000;
/** A server that answers a search and then fails its lists is given so many chances. */
const MAX_SEARCHES = 2;
/** The grace time when another question has found the API server out of reach, in milliseconds. */
const KNOWN_CUT_OFF_MS = 200;

/**
 * Decides, before the first list of a question, whether the API server is out of reach, so that what is on
 * disk may stand in.
 *
 * Invariant: as long as the API server answers, nothing from disk is shown. Out of reach it is when for the
 * grace time it did not even accept a connection, or broke or refused every one, or answered nothing but 429
 * and 5xx; or when it has accepted one and then said nothing, on any, for as long as it takes it to make a large
 * list. A list that is under way, however slow the link, is an answer, and so is a refusal (401, 403, …): what it
 * does not let us read is not shown from disk either. That it is behind our version (504) is one too.
 */
export class SnapshotFallback {
  readonly #options: SnapshotFallbackOptions;
  /** Since when the server in use has been tried. */
  #started = performance.now();
  #attemptAt: number | undefined;
  #error: WrapperError | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** How often another server may still turn up; then it is time to serve. */
  #chances = MAX_SEARCHES;
  #searching = false;
  /** There is no other server to hope for. */
  #searched = false;
  /** The attempt under way began before another server was found; its failure says nothing about that one. */
  #superseded = false;
  #ended = false;

  constructor(options: SnapshotFallbackOptions) {
    this.#options = options;
  }

  /** A request for the first list is sent. */
  attempting(): void {
    this.#attemptAt = performance.now();
    this.#superseded = false;
    this.#consider();
  }

  /** It failed. */
  failed(error: WrapperError): void {
    this.#attemptAt = undefined;
    if (!this.#superseded) this.#error = error;
    this.#consider();
  }

  /** The list is there, or nobody wants it any more. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #consider(): void {
    if (this.#ended || this.#searching) return;
    clearTimeout(this.#timer);
    const due = this.#due();
    if (due === undefined) return;
    const wait = due - performance.now();
    if (wait > 0) {
      this.#timer = setTimeout(() => this.#consider(), wait);
      return;
    }
    if (!this.#searched) void this.#search();
    else this.#giveUp();
  }

  /** One server is out of reach, or slow; unless another one answers, so is the API. */
  async #search(): Promise<void> {
    this.#searching = true;
    const found = await this.#options.search();
    this.#searching = false;
    this.#searched = !found || --this.#chances === 0;
    if (found) {
      this.#started = performance.now();
      this.#error = undefined;
      this.#superseded = this.#attemptAt !== undefined;
      if (this.#superseded) this.#attemptAt = this.#started;
    }
    this.#consider();
  }

  #giveUp(): void {
    this.end();
    this.#options.reach.noteCutOff();
    this.#options.onCutOff();
  }

  /** When something is to be done as things stand; undefined: when something else happens. */
  #due(): number | undefined {
    const { reach, patienceMs = PATIENCE_MS } = this.#options;
    // Others have waited already; an attempt of our own it still takes.
    const graceMs = reach.cutOff ? KNOWN_CUT_OFF_MS : this.#options.graceMs;
    if (this.#attemptAt !== undefined) {
      const patient = this.#searched && reach.heardWithin(patienceMs);
      return Math.max(this.#attemptAt, reach.heardAt) + (patient ? patienceMs : graceMs);
    }
    return this.#error !== undefined && isOutage(this.#error) ? this.#started + graceMs : undefined;
  }
}

/** Whether an error says nothing about what may be read, only that nobody is there to ask. */
function isOutage(error: WrapperError): boolean {
  const { code, status } = error;
  if (code !== 'Refused') return code === 'Unreachable' || code === 'Credentials';
  if (isTooLargeVersion(error)) return false;
  return status !== undefined && (status.code >= 500 || status.code === 429);
}
