import type { Logger } from 'pino';
import { WrapperError, type WrapperErrorOptions } from '../../errors.ts';
import type { LinkedAbortController } from '../util/linked-abort-controller.ts';
import { HealthCheck } from './health-check.ts';
import { addressOf } from './upstream-error.ts';

interface OpenRequest {
  readonly abort: LinkedAbortController;
  /** When it was sent; monotonic. */
  readonly sentAt: number;
}

interface ServerRequests {
  readonly server: URL;
  readonly healthCheck: HealthCheck;
  readonly open: Set<OpenRequest>;
}

/** One request counted by {@link ActiveRequests}. */
export interface ActiveRequest {
  /** Records that bytes were received. */
  onBytes(): void;
  /** Records that it has ended; may be called more than once. */
  end(): void;
}

export interface ActiveRequestsOptions {
  /** Health-checks a server; resolves with undefined if it does not answer. Never rejects. */
  readonly probe: (server: URL) => Promise<unknown>;
  /** Whether all connections to a server find out by themselves whether they are alive. */
  readonly isSelfChecked: (server: URL) => boolean;
  /** Called after a server was found dead and its requests were ended. */
  readonly onDead: (server: URL) => void;
  /** See {@link HealthCheck}. */
  readonly quietMs?: number;
  readonly logger: Logger;
}

/** The requests that are open at each API server. Those at a server that is dead or was replaced are ended. */
export class ActiveRequests {
  /** By URL: bounded, because an operator has listed the servers. */
  readonly #servers = new Map<string, ServerRequests>();
  readonly #options: ActiveRequestsOptions;

  constructor(options: ActiveRequestsOptions) {
    this.#options = options;
  }

  add(server: URL, abort: LinkedAbortController): ActiveRequest {
    const { open, healthCheck } = this.#requestsOf(server);
    const request: OpenRequest = { abort, sentAt: performance.now() };
    open.add(request);
    healthCheck.onRequestStart();
    return {
      onBytes: () => healthCheck.onBytes(),
      end: () => {
        if (open.delete(request)) healthCheck.onRequestEnd();
      },
    };
  }

  /** Ends all requests at a server, because another one is used in its place. */
  giveUp(server: URL): void {
    const open = this.#servers.get(server.href)?.open ?? [];
    endAll(open, `the API server at ${addressOf(server)} does not answer, and another one does`);
  }

  #requestsOf(server: URL): ServerRequests {
    const known = this.#servers.get(server.href);
    if (known !== undefined) return known;
    const { probe, isSelfChecked, quietMs } = this.#options;
    const requests: ServerRequests = {
      server,
      open: new Set(),
      healthCheck: new HealthCheck({
        probe: async () => isSelfChecked(server) || (await probe(server)) !== undefined,
        onDead: (checkedAt, silentMs) => this.#onDead(requests, checkedAt, silentMs),
        ...(quietMs === undefined ? {} : { quietMs }),
      }),
    };
    this.#servers.set(server.href, requests);
    return requests;
  }

  #onDead({ server, open }: ServerRequests, checkedAt: number, silentMs: number): void {
    const old = [...open].filter((request) => request.sentAt < checkedAt);
    const address = addressOf(server);
    this.#options.logger.warn(
      { server: address, requests: old.length },
      'the API server has fallen silent and answers no new connection; its requests are ended',
    );
    endAll(old, `the API server at ${address} has fallen silent`, { silentMs });
    this.#options.onDead(server);
  }
}

function endAll(
  requests: Iterable<OpenRequest>,
  problem: string,
  options: WrapperErrorOptions = {},
): void {
  const error = new WrapperError('Unreachable', problem, options);
  for (const { abort } of requests) abort.abort(error);
}
