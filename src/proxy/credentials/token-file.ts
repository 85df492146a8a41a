import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';

/**
 * The bearer token in a file that somebody else rotates, as kubelet does with a service account's. What
 * cannot be read or is half-written leaves the last good token in place.
 */
export class TokenFile {
  readonly path: string;
  readonly #maxAgeMs: number;
  readonly #logger: Logger;
  #token = '';
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #complaint = '';

  constructor(path: string, maxAgeMs: number, logger: Logger) {
    this.path = path;
    this.#maxAgeMs = maxAgeMs;
    this.#logger = logger;
  }

  /** The token, read again if it was read longer than `maxAgeMs` ago. Throws `Credentials` if there never was one. */
  async current(): Promise<string> {
    if (performance.now() - this.#readAt >= this.#maxAgeMs) await this.reread();
    return this.#token;
  }

  /** Reads the file now. Callers that come while it is read share the reading. */
  async reread(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    try {
      this.#token = await readToken(this.path);
      this.#complaint = '';
    } catch (error) {
      const problem = WrapperError.from(error, 'Credentials');
      if (this.#token === '') throw problem;
      if (problem.message !== this.#complaint) {
        this.#logger.warn({ file: this.path, err: problem }, 'the token read before is kept');
      }
      this.#complaint = problem.message;
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
    `the token file ${path} holds ${token === '' ? 'nothing' : 'more than a token'}`,
  );
}
