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

/**
 * A response body that is streamed to one reader. A loop over it asks for each chunk; leaving the loop early ends the
 * request. A list is pulled, not pushed: pushed, as a watch is, it took twice the memory (F14 in test/real/hostile).
 */
export interface UpstreamBody extends AsyncIterable<Buffer> {
  /**
   * Reads it to its end. Calls `use` once in a turn of the event loop, with all chunks that have arrived in it. So a
   * process that falls behind handles more of them together. Throws `Unreachable` if the body breaks off, after what
   * arrived before was used. What `use` throws ends the request and is thrown here.
   */
  read(use: (chunks: readonly Buffer[]) => void): Promise<void>;
  /** Ends the request, read or not. */
  destroy(): void;
}

/** A response whose body is not read yet. */
export interface StreamedResponse {
  readonly headers: ResponseHeaders;
  readonly body: UpstreamBody;
}

export interface BodyOptions {
  /** What is thrown for an error of the body. */
  readonly explain: (error: unknown) => unknown;
  /** Called for each chunk of the network. */
  readonly onBytes: () => void;
}

/** Wraps a body. */
export function createBody(source: Readable, { explain, onBytes }: BodyOptions): UpstreamBody {
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
    read: (use) =>
      new Promise((resolve, reject) => {
        let chunks: Buffer[] = [];
        const useArrived = (): void => {
          const arrived = chunks;
          chunks = [];
          try {
            if (arrived.length > 0) use(arrived);
          } catch (error) {
            reject(error);
            source.destroy();
          }
        };
        finished(source, { writable: false }, (error) => {
          useArrived();
          if (error == null) resolve();
          else reject(explain(error));
        });
        source.on('data', (chunk: Buffer) => {
          onBytes();
          // It runs after all sockets that were ready in this turn were read.
          if (chunks.push(chunk) === 1) setImmediate(useArrived);
        });
      }),
    destroy: () => void source.destroy(),
  };
}

function fromGzipError(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  // The code of an AbortError is a number.
  if (!String(code).startsWith('Z_')) return error;
  // It ends before the gzip does.
  return code === 'Z_BUF_ERROR'
    ? new WrapperError('Unreachable', 'a body broke off', { cause: error })
    : new WrapperError('Malformed', `a body that is not gzip: ${message}`, { cause: error });
}

/**
 * Reads a body to its end, and decompresses it if the headers say gzip. Throws `TooLarge` before more than `maxBytes`
 * decompressed bytes are held, `Malformed` if the bytes are not gzip, and `Unreachable` if the gzip breaks off.
 */
export async function readBody(response: StreamedResponse, maxBytes: number): Promise<Buffer> {
  return concat(await readBuffers(response, { maxBytes }));
}

export interface ReadOptions {
  /** Limit for the decompressed bytes. */
  readonly maxBytes: number;
  /** The setting of the limit, for the message. */
  readonly setting?: string;
  /** Called with the number of bytes of each chunk before it is kept. If it throws, the request ends. */
  readonly onBytes?: (length: number) => void;
}

/**
 * {@link readBody}, in buffers of {@link BUFFER_BYTES}. One large block that is freed soon costs more than itself,
 * because the C library then keeps that much more memory (mallopt(3), M_MMAP_THRESHOLD).
 */
export async function readBuffers(
  { headers, body }: StreamedResponse,
  options: ReadOptions,
): Promise<Buffer[]> {
  const { maxBytes, onBytes } = options;
  // This also holds for gzip, because no server compresses a body that grows by it.
  if (Number(headers['content-length'] ?? 0) > maxBytes) {
    body.destroy();
    throw tooLarge(options);
  }
  const buffers: Buffer[] = [];
  let chunks: Buffer[] = [];
  let held = 0;
  let total = 0;
  const isGzip = headers['content-encoding'] === 'gzip';
  const plain = isGzip ? pipeline(body, createGunzip({ chunkSize: BUFFER_BYTES }), () => {}) : body;
  try {
    for await (const chunk of plain) {
      total += chunk.length;
      if (total > maxBytes) throw tooLarge(options);
      onBytes?.(chunk.length);
      chunks.push(chunk);
      held += chunk.length;
      if (held < BUFFER_BYTES) continue;
      buffers.push(isGzip ? joined(chunks) : Buffer.concat(chunks));
      [chunks, held] = [[], 0];
    }
  } catch (error) {
    throw fromGzipError(error);
  }
  return [...buffers, Buffer.concat(chunks)];
}

/** The memory in which a gunzip has written chunks one after the other; if they are not, a copy. */
function joined(chunks: readonly Buffer[]): Buffer {
  const [first = Buffer.alloc(0)] = chunks;
  const { buffer, byteOffset } = first;
  let end = byteOffset;
  for (const chunk of chunks) {
    if (chunk.buffer !== buffer || chunk.byteOffset !== end) return Buffer.concat(chunks);
    end += chunk.length;
  }
  return Buffer.from(buffer, byteOffset, end - byteOffset);
}

function tooLarge({ maxBytes, setting }: ReadOptions): WrapperError {
  const detail = setting === undefined ? '' : ` (${setting})`;
  return new WrapperError('TooLarge', `a body of more than ${maxBytes} bytes${detail}`);
}
