import type { IncomingMessage } from 'node:http';
import { WrapperError } from '../../errors.ts';
import { isLoopback } from '../../util/address.ts';
import { assertLocalRequest } from '../http/request-checks.ts';
import type { Access } from './access-policy.ts';

/** Any process on the node. */
const OPEN_ACCESS: Access = { forward: () => undefined, authorize: async () => undefined };

/**
 * The access policy of plain http on loopback: any process on the node may read the views. Nothing is forwarded:
 * callers cannot be distinguished here, so a right of one is a right of all.
 */
export function authenticateLocal(request: IncomingMessage): Access {
  assertLocalRequest(request);
  return OPEN_ACCESS;
}

/** The error for a request that is not on the allow-list. client-go does not repeat a request that gets 403. */
export function notGranted({ method, url }: IncomingMessage): WrapperError {
  return new WrapperError(
    'Forbidden',
    `${method} ${url?.slice(0, 200)} is refused: plain http is only for what kube-proxy reads, and is never forwarded; use the https listener for the rest`,
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
