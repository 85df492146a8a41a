import type { IncomingHttpHeaders } from 'node:http';
import type { KubeStatus } from './kube-status.ts';

/** A request that the server has received. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The Accept header; empty if it was absent. */
  readonly accept: string;
  readonly headers: IncomingHttpHeaders;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Selects the requests to which a fault applies. */
export type RequestPredicate = (request: SeenRequest) => boolean;

/** An HTTP status code, or a whole Status. */
export type Refusal = number | KubeStatus;

/** Options of a refusal. */
export interface RefusalOptions {
  /** Sent as the header Retry-After and in the Status. */
  readonly retryAfterSeconds?: number;
}

/** A refusal in effect. */
export interface ActiveRefusal extends RefusalOptions {
  readonly predicate: RequestPredicate;
  readonly refusal: Refusal;
}

/** Number of recorded requests, more than any test sends. Older ones are dropped. */
const MAX_REQUESTS = 10_000;

/** The faults that tests inject, and the requests that the server has received. */
export class Faults {
  readonly #requests: SeenRequest[] = [];
  #refusals: ActiveRefusal[] = [];
  readonly #holds = new Map<RequestPredicate, Promise<void>>();
  readonly #releases = new Set<() => void>();

  /** The latest requests, oldest first. */
  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  /** Records a request. */
  record(request: SeenRequest): void {
    this.#requests.push(request);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
  }

  /**
   * Answers matching requests with a Status until the returned function is called. The latest refusal wins.
   * `undefined` removes the refusals with the same predicate.
   */
  refuse(
    predicate: RequestPredicate,
    refusal: Refusal | undefined,
    options: RefusalOptions,
  ): () => void {
    if (refusal === undefined) {
      this.#keepRefusals((each) => each.predicate !== predicate);
      return () => {};
    }
    const active: ActiveRefusal = { ...options, predicate, refusal };
    this.#refusals.unshift(active);
    return () => this.#keepRefusals((each) => each !== active);
  }

  #keepRefusals(isKept: (refusal: ActiveRefusal) => boolean): void {
    this.#refusals = this.#refusals.filter(isKept);
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

  /** Resolves once the request is no longer delayed. */
  async released(request: SeenRequest): Promise<void> {
    for (const [predicate, promise] of [...this.#holds]) {
      if (predicate(request)) await promise;
    }
  }

  /** Releases all delayed requests. Called when the server closes. */
  releaseAll(): void {
    for (const release of [...this.#releases]) release();
  }
}
