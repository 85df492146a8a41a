import type { IncomingMessage, ServerResponse } from 'node:http';
import { WrapperError } from '../../errors.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { assertLocalRequest } from '../http/request-checks.ts';
import type { EventForwarder } from '../passthrough/event-forwarder.ts';
import { isLoopback } from '../util/address.ts';
import type { AccessPolicy, Caller } from './access-policy.ts';

/**
 * Access over plain http on loopback: any process on the node may read the views, and kube-proxy's own Events are
 * forwarded. Nothing else is forwarded with the wrapper's identity: callers cannot be distinguished here, so a right
 * of one is a right of all.
 */
export class LoopbackAccess implements AccessPolicy {
  readonly #events: Pick<EventForwarder, 'handle'>;

  constructor(events: Pick<EventForwarder, 'handle'>) {
    this.#events = events;
  }

  authenticate(request: IncomingMessage): Caller {
    assertLocalRequest(request);
    return { kind: 'anyone' };
  }

  shouldForward(_request: IncomingMessage, _path: string, info: RequestInfo): boolean {
    return info.kind === 'events';
  }

  async authorize(): Promise<void> {}

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    _caller: Caller,
    info: RequestInfo,
  ): void {
    if (info.kind !== 'events') throw notGranted(request);
    const needed = info.name === '' ? 'POST' : 'PATCH';
    if (request.method !== needed) throw notGranted(request);
    this.#events.handle(request, response, info);
  }

  upgrade(request: IncomingMessage): void {
    throw notGranted(request);
  }
}

/** The error for a request that is not on the allow-list. */
export function notGranted({ method, url }: IncomingMessage): WrapperError {
  return new WrapperError(
    'Forbidden',
    `${method} ${url?.slice(0, 200)} is not on the list of what kube-proxy needs, so it is not forwarded`,
  );
}

/**
 * Throws `InvalidSettings` if an address is not a loopback address. Over plain http callers have no credentials: on any
 * other address, the whole network could use the wrapper's identity.
 */
export function assertLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new WrapperError(
    'InvalidSettings',
    `cannot listen on ${JSON.stringify(host)}: plain http is served on loopback only; use 127.0.0.1 or ::1`,
  );
}
