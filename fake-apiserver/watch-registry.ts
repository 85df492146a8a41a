import type { CollectionName } from './collections.ts';
import type { SeenRequest } from './faults.ts';
import { StatusError } from './kube-status.ts';
import { contentType } from './negotiate.ts';
import type { Exchange } from './respond.ts';
import type { Store } from './store.ts';
import { type WatchRequest, WatchSession } from './watch-session.ts';
import type { Format } from './wire.ts';

/** A watch that is open, for tests to look at. */
export interface OpenWatch {
  readonly collection: CollectionName;
  readonly format: Format;
  /** The request that opened it. */
  readonly request: SeenRequest;
}

/** The answer to an expired watch: a 200 stream whose first event is ERROR 410, or HTTP 410. */
export type ExpiredAnswer = 'event' | 'status';

/** All open watches of a server. */
export class WatchRegistry {
  /** Real API servers do either. One with a watch cache sends an event. */
  expiredAnswer: ExpiredAnswer = 'event';
  readonly #store: Store;
  readonly #bookmarkIntervalMs: number;
  readonly #open = new Map<WatchSession, OpenWatch>();
  #closing = false;

  constructor(store: Store, bookmarkIntervalMs: number) {
    this.#store = store;
    this.#bookmarkIntervalMs = bookmarkIntervalMs;
  }

  /** Answers a WATCH. */
  open(
    given: Omit<WatchRequest, 'bookmarkIntervalMs'>,
    seen: SeenRequest,
    exchange: Exchange,
  ): void {
    const { response } = exchange;
    const request = { ...given, bookmarkIntervalMs: this.#bookmarkIntervalMs };
    const session = new WatchSession(this.#store, request, response);
    const error = session.refusal();
    if (error?.code === 410 && this.expiredAnswer === 'status') throw new StatusError(error);
    response.statusCode = 200;
    response.setHeader('Content-Type', contentType(given.format.encoding, 'watch'));
    response.setHeader('Cache-Control', 'no-cache, private');
    const { collection, format } = given;
    this.#open.set(session, { collection: collection.name, format, request: seen });
    response.once('close', () => {
      this.#open.delete(session);
    });
    session.start();
    if (this.#closing) session.close();
  }

  /** The watches that are open, oldest first. */
  list(): OpenWatch[] {
    return [...this.#open.values()];
  }

  /** Destroys the connections of all open watches. */
  cut(): void {
    for (const session of [...this.#open.keys()]) session.cut();
  }

  /**
   * Stops all open watches from sending, with their connections left open, until the returned function is called. It
   * does not affect watches that open later.
   */
  freeze(): () => void {
    const frozen = [...this.#open.keys()];
    for (const session of frozen) session.freeze();
    return () => {
      for (const session of frozen) session.thaw();
    };
  }

  /** Ends all watches, and those that are opened until {@link reopen}. */
  closeAll(): void {
    this.#closing = true;
    for (const session of [...this.#open.keys()]) session.close();
  }

  /** Allows watches to be opened again. */
  reopen(): void {
    this.#closing = false;
  }
}
