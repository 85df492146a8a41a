import type { IncomingMessage, ServerResponse } from 'node:http';
import { WrapperError } from '../../errors.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { assertLocalRequest } from '../http/request-checks.ts';
import type { EventForwarder } from '../passthrough/event-forwarder.ts';
import { isLoopback } from '../util/address.ts';
import type { AccessPolicy, Caller } from './access-policy.ts';

/**
 * The loopback http door: any process on the node may read the views, and kube-proxy's own Events are forwarded. It
 * lends the wrapper's identity to nobody: callers cannot be told apart here, so that whatever is granted is granted
 * to all of them.
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

  shouldForward(_request: IncomingMessage, _path: string, target: RequestInfo): boolean {
    return target.kind === 'events';
  }

  async authorize(): Promise<void> {}

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    _caller: Caller,
    target: RequestInfo,
  ): void {
    if (target.kind !== 'events') throw notGranted(request);
    const needed = target.name === '' ? 'POST' : 'PATCH';
    if (request.method !== needed) throw notGranted(request);
    this.#events.handle(request, response, target);
  }

  upgrade(request: IncomingMessage): void {
    throw notGranted(request);
  }
}

/** The error for what the allow-list does not hold. */
export function notGranted({ method, url }: IncomingMessage): WrapperError {
  return new WrapperError(
    'Forbidden',
    `${method} ${url?.slice(0, 200)} is not among what kube-proxy needs, so it is not passed on`,
  );
}

/**
 * Throws `InvalidSettings` unless an address is a loopback one. Callers bring no credentials over plain
 * http, so that anywhere else the wrapper's identity would be lent to the network.
 */
export function assertLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new WrapperError(
    'InvalidSettings',
    `cannot listen on ${JSON.stringify(host)}: plain http is served on loopback only; use 127.0.0.1 or ::1`,
  );
}
