import type { IncomingMessage } from 'node:http';
import type { RequestTarget } from '../../client/api/request-info.ts';
import { WrapperError } from '../../errors.ts';

/** Whether a request is to switch protocols. Java's own client offers HTTP/2 with each request, and needs no answer. */
export function isUpgrade({ headers: { upgrade } }: IncomingMessage): boolean {
  return upgrade !== undefined && upgrade.toLowerCase() !== 'h2c';
}

/**
 * Throws `Forbidden` for a request that makes no sense without another protocol, such as exec.
 *
 * An API server can also watch over a websocket, and Java clients of fabric8 try that first. Such a watch is answered
 * as if there were no upgrade (RFC 9110, section 7.8): after a 200 they watch over http immediately, after a 503 they
 * repeat ten times before (BaseOperation.submitWatch). It ends after its first events: Vert.x, which they use, reads
 * the whole body first. What no view serves ends without an event.
 */
export function assertNoUpgrade(request: IncomingMessage, { path, query }: RequestTarget): void {
  if (!isUpgrade(request)) return;
  const isWatch = request.method === 'GET' && /^(1|t|true)$/i.test(query.get('watch') ?? '');
  if (isWatch) return;
  throw new WrapperError(
    'Forbidden',
    `${path.slice(0, 200)} is refused: the wrapper does not switch protocols; send exec, attach and port-forward to the API server`,
  );
}
