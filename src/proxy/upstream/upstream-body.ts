import { finished, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { WrapperError } from '../../errors.ts';
import { concat } from '../../filter/codec/buffer-list.ts';

/**
 * Size of the buffers that bodies are kept in. Large buffers go back to the operating system when they are free. A
 * list in buffers of the default 16 KB leaves the allocator's heap at its peak size.
 */
const BUFFER_BYTES = 1024 * 1024;
const FIRST_BUFFER_BYTES = 16 * 1024;

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
    readonly onChunk?: () => void;
  },
): UpstreamBody {
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for await (const chunk of source) {
          options.onChunk?.();
          yield chunk;
        }
      } catch (error) {
        throw options.explain(error);
      }
    },
    each: (onChunk) => readEach(source, options, onChunk),
    destroy: () => void source.destroy(),
  };
}

function readEach(
  source: Readable,
  options: { readonly explain: (error: unknown) => unknown; readonly onChunk?: () => void },
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      source.off('data', take);
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      options.onChunk?.();
      try {
        onChunk(chunk);
      } catch (error) {
        fail(error);
        source.destroy();
      }
    };
    finished(source, { writable: false }, (error) => {
      if (error == null) resolve();
      else fail(options.explain(error));
    });
    source.on('data', take);
  });
}

/**
 * Reads a body to its end, and decompresses it if the headers say gzip. Throws `TooLarge` before more than `maxBytes`
 * decompressed bytes are held, and `Malformed` if the bytes are not gzip.
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
  const declared = Number(headers['content-length'] ?? 0);
  // This also holds for gzip, because no server compresses a body that grows by it.
  if (declared > maxBytes) for await (const _ of body) throw tooLarge(options);
  if (headers['content-encoding'] === 'gzip') return gunzip(body, options);
  const buffers = new BufferFiller();
  for await (const chunk of limited(body, options)) {
    buffers.add(chunk);
  }
  return buffers.end();
}

/** The chunks of a body. Throws, and so ends the request, when they exceed the limit. */
async function* limited(
  body: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    if (total > options.maxBytes) throw tooLarge(options);
    options.onBytes?.(chunk.length);
    yield asBuffer(chunk);
  }
}

/** The same bytes as a Buffer, which shares their memory. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Copies chunks into large buffers, so that nothing is held twice and network buffers are freed soon. */
class BufferFiller {
  readonly #buffers: Buffer[] = [];
  #filling: Buffer | undefined;
  #used = 0;
  /** The first buffers are small, because most responses are. */
  #size = FIRST_BUFFER_BYTES;

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      this.#filling ??= Buffer.allocUnsafeSlow(this.#size);
      const copied = chunk.copy(this.#filling, this.#used, at);
      this.#used += copied;
      at += copied;
      if (this.#used === this.#size) this.#close();
    }
  }

  end(): Buffer[] {
    this.#close();
    return this.#buffers.length === 0 ? [Buffer.alloc(0)] : this.#buffers;
  }

  #close(): void {
    if (this.#filling !== undefined) this.#buffers.push(this.#filling.subarray(0, this.#used));
    this.#filling = undefined;
    this.#used = 0;
    this.#size = Math.min(2 * this.#size, BUFFER_BYTES);
  }
}

async function gunzip(body: AsyncIterable<Uint8Array>, options: ReadOptions): Promise<Buffer[]> {
  const source = Readable.from(body, { objectMode: false });
  const unzip = createGunzip({ chunkSize: BUFFER_BYTES });
  source.once('error', (error) => unzip.destroy(error));
  try {
    const buffers: Buffer[] = [];
    for await (const chunk of limited(source.pipe(unzip), options)) buffers.push(chunk);
    return buffers;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('Z_')) throw error;
    throw new WrapperError('Malformed', `a body that is not gzip: ${message}`, { cause: error });
  } finally {
    source.destroy();
  }
}

function tooLarge({ maxBytes, setting }: ReadOptions): WrapperError {
  const detail = setting === undefined ? '' : ` (${setting})`;
  return new WrapperError('TooLarge', `a body of more than ${maxBytes} bytes${detail}`);
}
