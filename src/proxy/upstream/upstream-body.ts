import { finished, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { WrapperError } from '../../errors.ts';
import { asBuffer } from '../../filter/codec/as-buffer.ts';
import { concat } from '../../filter/codec/buffer-list.ts';

/**
 * Bodies are kept in buffers of this size. Large ones go back to the operating system when they are
 * free; a list in buffers of the default 16 KB leaves the allocator's heap as large as it was at its peak.
 */
const PIECE_BYTES = 1024 * 1024;
const FIRST_PIECE_BYTES = 16 * 1024;

/** Response headers, names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A response body as it comes, for one reader. Leaving the loop over it early ends the request. */
export interface UpstreamBody extends AsyncIterable<Buffer> {
  /**
   * Hands on each chunk in the very turn of the event loop in which it arrives, which a loop does not; resolves
   * at the end. Throws as the loop does, and what `onChunk` throws, which ends the request.
   */
  each(onChunk: (chunk: Buffer) => void): Promise<void>;
  /** Ends the request, read or not. */
  destroy(): void;
}

/** Wraps a body so that what goes wrong while it is read is thrown as `explain` says. */
export function createBody(
  source: Readable,
  options: {
    readonly explain: (error: unknown) => unknown;
    /** A body that nobody has begun to read after this time is destroyed, in milliseconds. */
    readonly unreadMs: number;
    readonly onUnread: () => void;
    /** Called for each chunk, before its reader gets it. */
    readonly onChunk?: () => void;
  },
): UpstreamBody {
  // An error while nobody reads is thrown to the one who reads later; without a listener it would end the process.
  source.on('error', () => {});
  const timer = setTimeout(() => {
    if (source.readableDidRead || source.destroyed) return;
    options.onUnread();
    source.destroy();
  }, options.unreadMs);
  timer.unref();
  source.once('close', () => clearTimeout(timer));
  return {
    async *[Symbol.asyncIterator]() {
      clearTimeout(timer);
      try {
        for await (const chunk of source) {
          options.onChunk?.();
          yield chunk;
        }
      } catch (error) {
        throw options.explain(error);
      }
    },
    each: async (onChunk) => {
      clearTimeout(timer);
      await readEach(source, options, onChunk);
    },
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
 * Reads a body to its end and, where the headers say so, gunzips it. Throws `TooLarge` before more than
 * `maxBytes` are held, counted after gunzipping, and `Malformed` for bytes that are no gzip.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  headers: ResponseHeaders = {},
): Promise<Buffer> {
  return concat(await readBuffers(body, { maxBytes, headers }));
}

export interface ReadOptions {
  /** Counted after gunzipping. */
  readonly maxBytes: number;
  readonly headers?: ResponseHeaders;
  /** Told how many bytes have come, before they are kept; what it throws ends the request. */
  readonly onBytes?: (length: number) => void;
}

/**
 * {@link readBody}, in pieces of {@link PIECE_BYTES}. A large block that is joined, and free soon, costs more than
 * itself: the C library keeps so much more for itself from then on (mallopt(3), M_MMAP_THRESHOLD).
 */
export async function readBuffers(
  body: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): Promise<Buffer[]> {
  const { headers = {}, maxBytes } = options;
  const declared = Number(headers['content-length'] ?? 0);
  // Also of what is zipped: nobody zips what grows by it.
  if (declared > maxBytes) for await (const _ of body) throw tooLarge(maxBytes);
  if (headers['content-encoding'] === 'gzip') return gunzip(body, options);
  const buffers = new PieceList();
  for await (const chunk of within(body, options)) {
    buffers.add(chunk);
  }
  return buffers.end();
}

/** The chunks of a body, as long as they are within the bounds. A throw ends the request. */
async function* within(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, onBytes }: ReadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(maxBytes);
    onBytes?.(chunk.length);
    yield asBuffer(chunk);
  }
}

/** Copies chunks into pieces as they come, so that nothing is held twice, and no network buffer for long. */
class PieceList {
  readonly #buffers: Buffer[] = [];
  #filling: Buffer | undefined;
  #used = 0;
  /** Most answers are small: the first pieces are too. */
  #size = FIRST_PIECE_BYTES;

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
    this.#size = Math.min(2 * this.#size, PIECE_BYTES);
  }
}

async function gunzip(body: AsyncIterable<Uint8Array>, options: ReadOptions): Promise<Buffer[]> {
  const source = Readable.from(body, { objectMode: false });
  const unzip = createGunzip({ chunkSize: PIECE_BYTES });
  source.once('error', (error) => unzip.destroy(error));
  try {
    const buffers: Buffer[] = [];
    for await (const chunk of within(source.pipe(unzip), options)) buffers.push(chunk);
    return buffers;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('Z_')) throw error;
    throw new WrapperError('Malformed', `a body that is no gzip: ${message}`, { cause: error });
  } finally {
    source.destroy();
  }
}

function tooLarge(maxBytes: number): WrapperError {
  return new WrapperError('TooLarge', `a body of more than ${maxBytes} bytes`);
}
