import type { IncomingMessage } from 'node:http';
import { WrapperError } from '../../errors.ts';

/**
 * Reads the whole body of a request, whose length the caller has checked: Node's parser passes on no more than
 * Content-Length says. Rejects with `LimitExceeded` (408) if it does not arrive within `timeoutMs` milliseconds, and
 * with `BadRequest` if the client disconnects before its end. Then the response must end the connection. Otherwise the
 * server waits for the rest of the body.
 */
export async function readRequestBody(
  request: IncomingMessage,
  timeoutMs: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const message = `the body did not arrive within ${timeoutMs / 1000} s`;
      const status = { code: 408, reason: 'RequestTimeout' };
      end(new WrapperError('LimitExceeded', message, { status }));
    }, timeoutMs);
    const end = (error?: WrapperError): void => {
      clearTimeout(timer);
      request.off('data', take).off('close', broken).off('error', broken);
      if (error === undefined) resolve(Buffer.concat(chunks));
      else reject(error);
    };
    const broken = (): void =>
      end(new WrapperError('BadRequest', 'the client disconnected before the end of the body'));
    const take = (chunk: Buffer): void => void chunks.push(chunk);
    request.on('data', take).once('close', broken).once('error', broken);
    request.once('end', () => end());
  });
}
