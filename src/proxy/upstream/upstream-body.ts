import { finished, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { WrapperError } from '../../errors.ts';
import { concat } from '../../filter/codec/bytes/buffer-list.ts';

/**
 * Size of the buffers that bodies are kept in. Large buffers go back to the operating system when they are free. A
 * list in buffers of the default 16 KB leaves the allocator's heap at its peak size.
 */
const BUFFER_BYTES = 1024 * 1024;

/** Response headers, names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A response body that is streamed to one reader. Leaving the loop over it early ends the request. */
export interface UpstreamBody extends AsyncIterable<Buffer> {
  /**
   * Calls `onChunk` in the turn of the event loop in which a chunk arrives, which a loop does not. Resolves at the end.
   * Throws what the loop would throw. If `onChunk` throws, the request ends and the error is thrown here.
   */
  each(onChunk: (chunk: Buffer) => void): Promise<void>;
  /** Ends the request, read or not. */
  destroy(): void;
}

/** Wraps a body. Errors while it is read are thrown as `explain` returns them. */
export function createBody(
  source: Readable,
  options: {
    readonly explain: (error: unknown) => unknown;
    /** Called for each chunk, before its reader gets it. */
    readonly onBytes: () => void;
  },
): UpstreamBody {
  const { explain, onBytes } = options;
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for await (const chunk of source) {
          onBytes();
          yield chunk;
        }
      } catch (error) {
        throw explain(error);
      }
    },
    each: (onChunk) =>
      new Promise((resolve, reject) => {
        const fail = (error: unknown): void => {
          source.off('data', take);
          reject(error);
        };
        const take = (chunk: Buffer): void => {
          onBytes();
          try {
            onChunk(chunk);
          } catch (error) {
            fail(error);
            source.destroy();
          }
        };
        finished(source, { writable: false }, (error) => {
          if (error == null) resolve();
          else fail(explain(error));
        });
        source.on('data', take);
      }),
    destroy: () => void source.destroy(),
  };
}

/**
 * Reads a body to its end, and decompresses it if the headers say gzip. Throws `TooLarge` before more than `maxBytes`
 * decompressed bytes are held, `Malformed` if the bytes are not gzip, and `Unreachable` if the gzip breaks off.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  headers: ResponseHeaders = {},
): Promise<Buffer> {
  return concat(await readBuffers(body, { maxBytes, headers }));
}

export interface ReadOptions {
  /** Limit for the decompressed bytes. */
  readonly maxBytes: number;
  /** The setting of the limit, for the message. */
  readonly setting?: string;
  readonly headers?: ResponseHeaders;
  /** Called with the number of bytes of each chunk before it is kept. If it throws, the request ends. */
  readonly onBytes?: (length: number) => void;
}

/**
 * {@link readBody}, in buffers of {@link BUFFER_BYTES}. One large block that is freed soon costs more than itself,
 * because the C library then keeps that much more memory (mallopt(3), M_MMAP_THRESHOLD).
 */
export async function readBuffers(
  body: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): Promise<Buffer[]> {
  const { headers = {}, maxBytes } = options;
  // This also holds for gzip, because no server compresses a body that grows by it.
  const isTooLarge = Number(headers['content-length'] ?? 0) > maxBytes;
  if (isTooLarge) for await (const _ of body) throw tooLarge(options);
  const isGzip = headers['content-encoding'] === 'gzip';
  const source = isGzip
    ? pipeline(body, createGunzip({ chunkSize: BUFFER_BYTES }), () => {})
    : body;
  const buffers: Buffer[] = [];
  let chunks: Uint8Array[] = [];
  let held = 0;
  let total = 0;
  try {
    for await (const chunk of source) {
      total += chunk.length;
      if (total > maxBytes) throw tooLarge(options);
      options.onBytes?.(chunk.length);
      chunks.push(chunk);
      held += chunk.length;
      if (held < BUFFER_BYTES) continue;
      buffers.push(Buffer.concat(chunks));
      [chunks, held] = [[], 0];
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('Z_')) throw error;
    // It ends before the gzip does.
    if (code === 'Z_BUF_ERROR') {
      throw new WrapperError('Unreachable', 'a body broke off', { cause: error });
    }
    throw new WrapperError('Malformed', `a body that is not gzip: ${message}`, { cause: error });
  }
  return [...buffers, Buffer.concat(chunks)];
}

function tooLarge({ maxBytes, setting }: ReadOptions): WrapperError {
  const detail = setting === undefined ? '' : ` (${setting})`;
  return new WrapperError('TooLarge', `a body of more than ${maxBytes} bytes${detail}`);
}
