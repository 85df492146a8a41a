import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { WrapperError } from '../../errors.ts';
import { abortable } from '../../util/linked-abort-controller.ts';

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
  const late = AbortSignal.timeout(timeoutMs);
  try {
    return await abortable(buffer(request), late);
  } catch (cause) {
    if (!late.aborted) {
      const message = 'the client disconnected before the end of the body';
      throw new WrapperError('BadRequest', message, { cause });
    }
    const message = `the body did not arrive within ${timeoutMs / 1000} s`;
    const status = { code: 408, reason: 'RequestTimeout' };
    throw new WrapperError('LimitExceeded', message, { status });
  }
}
