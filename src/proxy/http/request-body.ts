import type { IncomingMessage } from 'node:http';
import { WrapperError } from '../../errors.ts';
import { payloadTooLarge } from './http-errors.ts';

export interface BodyLimits {
  /** Maximum size of the body, in bytes. */
  readonly maxBytes: number;
  /** Name of that limit, for messages. */
  readonly name: string;
  /** How long the whole body may take to arrive, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Reads the whole body of a request. Rejects with `LimitExceeded` (413, 408) if the body exceeds a limit, and with
 * `BadRequest` if the client disconnects before its end. If the body was not read to its end, the response must end
 * the connection. Otherwise the server waits for the rest of the body.
 */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, name, timeoutMs }: BodyLimits,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const message = `kube-proxy-wrapper: the body did not arrive within ${timeoutMs / 1000} s`;
      const status = { code: 408, reason: 'RequestTimeout', message };
      end(new WrapperError('LimitExceeded', message, { status }));
    }, timeoutMs);
    const end = (error?: WrapperError): void => {
      clearTimeout(timer);
      request.off('data', take).off('close', broken).off('error', broken);
      if (error === undefined) resolve(Buffer.concat(chunks, length));
      else reject(error);
    };
    const broken = (): void =>
      end(new WrapperError('BadRequest', 'the client disconnected before the end of the body'));
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > maxBytes) end(payloadTooLarge(maxBytes, name));
    };
    request.on('data', take).once('close', broken).once('error', broken);
    request.once('end', () => end());
  });
}
