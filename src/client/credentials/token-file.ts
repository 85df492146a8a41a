import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { OncePerCause } from '../../util/once-per-cause.ts';
import { SingleFlight } from '../../util/single-flight.ts';

/**
 * The bearer token in a file that another process rotates, as kubelet does with a service account's. If the file
 * cannot be read or is incomplete, the last good token stays in use.
 */
export class TokenFile {
  readonly path: string;
  readonly #maxAgeMs: number;
  readonly #logger: Logger;
  readonly #reading = new SingleFlight<void>();
  readonly #failure = new OncePerCause();
  #token = '';
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, maxAgeMs: number, logger: Logger) {
    this.path = path;
    this.#maxAgeMs = maxAgeMs;
    this.#logger = logger;
  }

  /** The token, read again if it is older than `maxAgeMs`. Throws `Credentials` if there never was one. */
  async current(): Promise<string> {
    if (performance.now() - this.#readAt >= this.#maxAgeMs) await this.reread();
    return this.#token;
  }

  /** Reads the file now, or shares the reading under way. */
  reread(): Promise<void> {
    return this.#reading.run(() => this.#read());
  }

  async #read(): Promise<void> {
    try {
      this.#token = await readToken(this.path);
      this.#failure.succeed();
    } catch (error) {
      const err = WrapperError.from(error, 'Credentials');
      if (this.#token === '') throw err;
      if (this.#failure.fail(err.message)) {
        const fields = { file: this.path, err };
        this.#logger.warn(fields, 'the new token cannot be used; the old one remains in use');
      }
    }
    this.#readAt = performance.now();
  }
}

async function readToken(path: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new WrapperError(
      'Credentials',
      `the token file ${path} cannot be read (${code}); check the path and its permissions`,
      { cause: error },
    );
  }
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new WrapperError(
    'Credentials',
    `the token file ${path} ${token === '' ? 'is empty' : 'contains more than a token'}`,
  );
}
