import { type ClientHttp2Stream, constants } from 'node:http2';
import { Readable } from 'node:stream';

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants;

/**
 * The body of a response over HTTP/2, as a Readable without the peculiarities of Node's streams of HTTP/2:
 * - One that was cancelled, also because its connection was lost, ends without an error, as if it were complete.
 * - One that is complete counts as closed before it is read, so that `finished` and `for await` fail.
 * - One whose connection is reset after a graceful GOAWAY ends with NO_ERROR, too (socketOnError in
 *   lib/internal/http2/core.js). It is destroyed then, before its end; one that is complete is destroyed after it.
 * - The server is not notified that one is destroyed.
 */
export class Http2Body extends Readable {
  readonly #stream: ClientHttp2Stream;

  /** @param explain the reason for an error of the stream */
  constructor(stream: ClientHttp2Stream, explain: (error: Error) => Error) {
    super();
    this.#stream = stream;
    // It may fail before its reader gets it, who then sees the error.
    this.on('error', () => {});
    const fail = (error: Error): void => void this.destroy(explain(error));
    stream.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause();
    });
    stream.once('end', () => {
      if (stream.rstCode === NGHTTP2_NO_ERROR && !stream.destroyed) this.push(null);
      else fail(new Error(`the stream was closed with code ${stream.rstCode}`));
    });
    stream.on('error', fail);
    stream.once('close', () => {
      if (!stream.readableEnded)
        fail(new Error(`the stream was closed with code ${stream.rstCode}`));
    });
    stream.pause();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    cancelStream(this.#stream);
    callback(error);
  }
}

/** Ends a stream. The server is notified if the stream has not ended yet. */
export function cancelStream(stream: ClientHttp2Stream, reason?: Error): void {
  if (!stream.closed) stream.close(NGHTTP2_CANCEL);
  stream.destroy(reason);
}
