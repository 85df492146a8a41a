import type { IncomingHttpHeaders } from 'node:http';
import type { KubeStatus } from './kube-status.ts';

/** A request as the server has seen it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The Accept header; empty when there was none. */
  readonly accept: string;
  readonly headers: IncomingHttpHeaders;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Which requests a fault is for. */
export type RequestPredicate = (request: SeenRequest) => boolean;

/** An HTTP status code, or a whole Status. */
export type Refusal = number | KubeStatus;

/** What else a refusal says. */
export interface RefusalOptions {
  /** Sent as the header Retry-After and in the Status. */
  readonly retryAfterSeconds?: number;
}

/** A refusal that was asked for. */
export interface ActiveRefusal extends RefusalOptions {
  readonly predicate: RequestPredicate;
  readonly refusal: Refusal;
}

/** More requests than any test makes; older ones are forgotten. */
const MAX_REQUESTS = 10_000;

/** What tests make go wrong, and what they see of it. */
export class Faults {
  readonly #requests: SeenRequest[] = [];
  #refusals: ActiveRefusal[] = [];
  readonly #holds = new Map<RequestPredicate, Promise<void>>();
  readonly #releases = new Set<() => void>();

  /** The latest requests, oldest first. */
  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  /** Remembers a request. */
  record(request: SeenRequest): void {
    this.#requests.push(request);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
  }

  /**
   * Answers matching requests with a Status, the latest refusal first, until the returned function is
   * called; `undefined` lifts the refusals with the same predicate.
   */
  refuse(
    predicate: RequestPredicate,
    refusal: Refusal | undefined,
    options: RefusalOptions,
  ): () => void {
    const lift = (given: ActiveRefusal | undefined) => {
      this.#refusals = this.#refusals.filter((each) =>
        given === undefined ? each.predicate !== predicate : each !== given,
      );
    };
    if (refusal === undefined) {
      lift(undefined);
      return () => {};
    }
    const active: ActiveRefusal = { ...options, predicate, refusal };
    this.#refusals.unshift(active);
    return () => {
      lift(active);
    };
  }

  /** The refusal for a request, if any. */
  refusalOf(request: SeenRequest): ActiveRefusal | undefined {
    return this.#refusals.find(({ predicate }) => predicate(request));
  }

  /** Delays answers to matching requests until the returned function is called. */
  hold(predicate: RequestPredicate): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own: RequestPredicate = (request) => predicate(request);
    const release = () => {
      this.#holds.delete(own);
      this.#releases.delete(release);
      resolve();
    };
    this.#holds.set(own, promise);
    this.#releases.add(release);
    return release;
  }

  /** Resolves when nothing holds the request any more. */
  async released(request: SeenRequest): Promise<void> {
    for (const [predicate, promise] of [...this.#holds]) {
      if (predicate(request)) await promise;
    }
  }

  /** Releases all that is held; for the server's end. */
  releaseAll(): void {
    for (const release of [...this.#releases]) release();
  }
}
