import type { IncomingMessage, ServerResponse } from 'node:http';
import { WrapperError } from '../errors.ts';
import type { Caller, Gate } from './access.ts';
import { isLoopback } from './address.ts';
import { bodyRefusal } from './door-refusal.ts';
import { assertLocalRequest } from './host-check.ts';
import type { Passthrough } from './passthrough.ts';
import type { Target } from './target.ts';

/**
 * The loopback http door: any process on the node may read the views, and write events. It lends the
 * wrapper's identity to nobody: callers cannot be told apart here, so that whatever is granted is granted to
 * all of them.
 */
export class LoopbackGate implements Gate {
  readonly #passthrough: Pick<Passthrough, 'forward'>;
  readonly #maxEventBytes: number;

  constructor(passthrough: Pick<Passthrough, 'forward'>, maxEventBytes: number) {
    this.#passthrough = passthrough;
    this.#maxEventBytes = maxEventBytes;
  }

  admit(request: IncomingMessage): Caller {
    assertLocalRequest(request);
    return { kind: 'anyone' };
  }

  isPassedOn(_request: IncomingMessage, _path: string, target: Target): boolean {
    return target.kind === 'events';
  }

  async assertMayRead(): Promise<void> {}

  pass(request: IncomingMessage, response: ServerResponse, _caller: Caller, target: Target): void {
    const { method, headers } = request;
    const name = target.kind === 'events' ? target.name : '';
    const create = method === 'POST' && name === '';
    const update = (method === 'PATCH' || method === 'PUT') && name !== '';
    if (target.kind !== 'events' || (!create && !update)) throw notGranted(request);
    if (headers['content-length'] === undefined) throw lengthRequired();
    if (Number(headers['content-length']) > this.#maxEventBytes) {
      throw bodyRefusal(this.#maxEventBytes, 'maxEventBytes');
    }
    this.#passthrough.forward(request, response);
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

/** client-go sends it; without it the size would be known only when the body has been passed on. */
function lengthRequired(): WrapperError {
  const message = 'an event is taken with a Content-Length only';
  const status = { code: 411, reason: 'LengthRequired', message: `kube-proxy-wrapper: ${message}` };
  return new WrapperError('BadRequest', message, { status });
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
