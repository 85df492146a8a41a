import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../errors.ts';
import type { Change, ChangeSink } from '../filter/change.ts';
import type { Codec, ObjectBytes, ObjectMeta } from '../filter/codec.ts';
import type { VersionClock } from '../filter/version-clock.ts';
import { createBackoff } from './backoff.ts';
import { CollectionClient } from './collection-client.ts';
import { DifferenceTracker } from './difference-tracker.ts';
import { type Question, questionPath } from './question.ts';
import type { Upstream } from './upstream.ts';

/** How a reflector stands with the API server, for readiness and metrics. */
export interface ReflectorStatus {
  /** A list has arrived at least once: what is known is complete, though maybe old. */
  readonly synced: boolean;
  /** A watch is open. */
  readonly connected: boolean;
  /** Why the last attempt failed; undefined while all goes well. */
  readonly error: WrapperError | undefined;
  /** Attempts that failed since all went well. */
  readonly failures: number;
  /** When the API server was last heard of on this question, in milliseconds since the epoch; 0: never. */
  readonly lastContact: number;
  /** Lists and watches asked for since the start. */
  readonly lists: number;
  readonly watches: number;
}

export interface ReflectorOptions<Facts extends ObjectMeta> {
  readonly upstream: Upstream;
  readonly codec: Codec;
  readonly question: Question;
  /** Ask for PartialObjectMetadata: names and labels, no spec, no status. */
  readonly metadataOnly: boolean;
  /** Reads the facts of an object; throws `Malformed`. */
  readonly decode: (object: ObjectBytes) => Facts;
  /** Told of each change, in this order. */
  readonly sinks: readonly ChangeSink<Facts>[];
  readonly clock: VersionClock;
  readonly logger: Logger;
  /** Called when the API server refused (403) three times in a row, and with undefined once it allows again. */
  readonly onRefused?: (error: WrapperError | undefined) => void;
  /**
   * A collection that does not exist (404) is an empty one, and looked for again every few seconds: that of a
   * custom resource may be defined later, or never.
   */
  readonly absentIsEmpty?: boolean;
  readonly random?: () => number;
}

/** A refusal is taken for final after so many: an API server that starts answers 403 until its RBAC has loaded. */
const REFUSALS = 3;
/** A watch that lives this long went well, in milliseconds. */
const GOOD_WATCH_MS = 10_000;
/** A watch that ends sooner than this, with nothing said, is a failure, in milliseconds. */
const SHORT_WATCH_MS = 1_000;
/** How long until a collection that did not exist is looked for again, in milliseconds. */
const ABSENT_MS = 5_000;
/** No Retry-After is obeyed beyond this, in milliseconds. */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Lists a collection, then watches it, for ever, and tells its sinks what is different to what they know.
 *
 * Invariant: the sinks have heard of every change up to `#version`, and of nothing after it; a watch
 * continues from there, and when the API server cannot continue, a list says what was missed. A list never
 * asks for less than what is known already, but for the one case that the API server no longer has it.
 */
export class Reflector<Facts extends ObjectMeta> {
  readonly #options: ReflectorOptions<Facts>;
  readonly #client: CollectionClient;
  readonly #tracker: DifferenceTracker<Facts>;
  readonly #backoff;
  readonly #log: Logger;
  /** What the next list asks for: `0` for any state, a version for that or newer, empty for the newest. */
  #listVersion = '0';
  /** Version up to which everything has been told; undefined before the first list and after an expiry. */
  #version: string | undefined;
  #synced = false;
  #connected = false;
  #error: WrapperError | undefined;
  #failures = 0;
  #malformed = 0;
  #refusals = 0;
  #lists = 0;
  #watches = 0;
  #lastContact = 0;

  constructor(options: ReflectorOptions<Facts>) {
    this.#options = options;
    this.#client = new CollectionClient(options);
    this.#tracker = new DifferenceTracker(options.decode);
    this.#backoff = createBackoff(options.random === undefined ? {} : { random: options.random });
    this.#log = options.logger.child({ collection: questionPath(options.question) });
  }

  get status(): ReflectorStatus {
    return {
      synced: this.#synced,
      connected: this.#connected,
      error: this.#error,
      failures: this.#failures,
      lastContact: this.#lastContact,
      lists: this.#lists,
      watches: this.#watches,
    };
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) break;
        const failure = WrapperError.from(error, 'Unreachable');
        const absent = this.#options.absentIsEmpty === true && failure.status?.code === 404;
        const wait = absent ? this.#absent() : this.#failed(failure);
        await delay(wait, undefined, { signal }).catch(() => undefined);
      }
      this.#connected = false;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#lists++;
    const { items, resourceVersion } = await this.#client.list(this.#listVersion, signal);
    this.#options.clock.observe(resourceVersion);
    const changes = this.#replace(items);
    this.#version = resourceVersion;
    this.#listVersion = resourceVersion;
    this.#log.debug({ rv: resourceVersion, changes: changes.length }, 'listed');
  }

  /** Tells the sinks what is different in a complete list; returns that. */
  #replace(items: readonly ObjectBytes[]): readonly Change<Facts>[] {
    const changes = this.#tracker.replace(items);
    for (const sink of this.#options.sinks) {
      sink.changed(changes);
      sink.synced();
    }
    this.#tracker.commit(changes);
    this.#synced = true;
    this.#lastContact = Date.now();
    return changes;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const started = Date.now();
    let heard = false;
    this.#watches++;
    const batches = this.#client.watch(this.#version ?? '', signal, () => this.#opened());
    for await (const events of batches) {
      heard = true;
      this.#wentWell();
      this.#lastContact = Date.now();
      const { changes, resourceVersion, error } = this.#tracker.follow(events);
      if (resourceVersion !== '') {
        this.#options.clock.observe(resourceVersion);
        this.#version = resourceVersion;
        this.#listVersion = resourceVersion;
      }
      this.#tracker.commit(changes);
      if (changes.length > 0) for (const sink of this.#options.sinks) sink.changed(changes);
      if (error !== undefined) throw error;
    }
    const lasted = Date.now() - started;
    if (lasted >= GOOD_WATCH_MS) this.#wentWell();
    if (!heard && lasted < SHORT_WATCH_MS) {
      throw new WrapperError('Unreachable', 'the API server ended the watch at once');
    }
  }

  #opened(): void {
    this.#connected = true;
    this.#lastContact = Date.now();
    this.#refusals = 0;
    this.#options.onRefused?.(undefined);
    if (this.#failures > 0) this.#log.info({ failures: this.#failures }, 'connected again');
    this.#failures = 0;
    this.#error = undefined;
  }

  #wentWell(): void {
    this.#backoff.reset();
    this.#malformed = 0;
  }

  /** Nothing is there to be watched; returns how long to wait, in milliseconds. */
  #absent(): number {
    this.#opened();
    this.#replace([]);
    this.#version = undefined;
    this.#listVersion = '';
    return ABSENT_MS;
  }

  /** Decides how to go on after a failure; returns how long to wait, in milliseconds. */
  #failed(error: WrapperError): number {
    if (this.#failures++ === 0 || this.#error?.code !== error.code) {
      this.#log.warn({ err: error.message, code: error.code, offset: error.offset }, 'interrupted');
    }
    this.#error = error;
    if (isExpired(error) || isTooLargeVersion(error)) this.#startOver();
    if (error.code === 'Malformed' || error.code === 'TooLarge') {
      // The same bytes may come again from the same version; a list shows whether the object itself is bad.
      if (++this.#malformed > 1) this.#version = undefined;
    }
    this.#refusals = error.status?.code === 403 ? this.#refusals + 1 : 0;
    if (this.#refusals === REFUSALS) this.#options.onRefused?.(error);
    const retryAfter = (error.status?.retryAfterSeconds ?? 0) * 1000;
    return Math.max(this.#backoff.next(), Math.min(retryAfter, MAX_RETRY_AFTER_MS));
  }

  /**
   * The version we hold cannot be continued from. A list at that version comes first, for with several API
   * servers a list at "any" may go back in time; when that fails too, only the newest state will do.
   */
  #startOver(): void {
    if (this.#version === undefined) this.#listVersion = '';
    this.#version = undefined;
  }
}

/** HTTP 410, or an ERROR event that says so: the version has left the API server's window. */
function isExpired(error: WrapperError): boolean {
  return error.status?.code === 410;
}

/** The API server is behind the version we know (apimachinery errors.IsTooLargeResourceVersion). */
function isTooLargeVersion({ status }: WrapperError): boolean {
  return (
    status?.code === 504 &&
    (status.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false)
  );
}
