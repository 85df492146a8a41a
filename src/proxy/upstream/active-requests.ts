import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { LinkedAbortController } from '../util/linked-abort-controller.ts';
import { HealthCheck } from './health-check.ts';
import { addressOf } from './upstream-error.ts';

interface OpenRequest {
  readonly abort: LinkedAbortController;
  /** Monotonic. */
  readonly since: number;
}

interface ServerRequests {
  readonly server: URL;
  readonly healthCheck: HealthCheck;
  readonly open: Set<OpenRequest>;
}

/** A request in the hands of {@link ActiveRequests}. */
export interface ActiveRequest {
  /** A byte came. */
  heard(): void;
  /** It has ended. */
  release(): void;
}

/** The requests that are open at each API server; ends those at one that is no longer there. */
export class ActiveRequests {
  readonly #servers = new Map<string, ServerRequests>();
  readonly #options: {
    readonly probe: (server: URL) => Promise<number | undefined>;
    readonly onDead: (server: URL) => void;
    readonly quietMs?: number;
    readonly logger: Logger;
  };

  constructor(options: {
    /** Asks a server on a new connection: the status of its answer, or undefined. Never rejects. */
    readonly probe: (server: URL) => Promise<number | undefined>;
    readonly onDead: (server: URL) => void;
    /** See {@link HealthCheck}. */
    readonly quietMs?: number;
    readonly logger: Logger;
  }) {
    this.#options = options;
  }

  add(server: URL, abort: LinkedAbortController): ActiveRequest {
    const requests = this.#requestsOf(server);
    const request: OpenRequest = { abort, since: performance.now() };
    requests.open.add(request);
    requests.healthCheck.opened();
    return {
      heard: () => requests.healthCheck.heard(),
      release: () => {
        if (requests.open.delete(request)) requests.healthCheck.ended();
      },
    };
  }

  /** Ends all requests at a server: another one is used in its place. */
  giveUp(server: URL): void {
    const open = this.#servers.get(server.href)?.open ?? [];
    const problem = `the API server at ${addressOf(server)} does not answer, and another one does`;
    for (const { abort } of open) abort.abort(new WrapperError('Unreachable', problem));
  }

  #requestsOf(server: URL): ServerRequests {
    const known = this.#servers.get(server.href);
    if (known !== undefined) return known;
    const { probe, quietMs } = this.#options;
    const requests: ServerRequests = {
      server,
      open: new Set(),
      healthCheck: new HealthCheck({
        probe: async () => (await probe(server)) !== undefined,
        onDead: (since) => this.#dead(requests, since),
        ...(quietMs === undefined ? {} : { quietMs }),
      }),
    };
    // As many as there are servers, which an operator has written down.
    this.#servers.set(server.href, requests);
    return requests;
  }

  #dead({ server, open }: ServerRequests, since: number): void {
    const old = [...open].filter((request) => request.since < since);
    const address = addressOf(server);
    this.#options.logger.warn(
      { server: address, requests: old.length },
      'the API server has fallen silent and answers no new connection; its requests are ended',
    );
    const problem = `the API server at ${address} has fallen silent`;
    for (const { abort } of old) abort.abort(new WrapperError('Unreachable', problem));
    this.#options.onDead(server);
  }
}
