import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createSecureContext, type TlsOptions } from 'node:tls';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { assertCertificates } from '../util/pem.ts';

/** What the https door shows, and whom it believes; PEM. */
export interface Pems {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates; absent: none is asked for. */
  readonly clientCa?: string;
}

/** The certificate of the https door, which may change while it is open. */
export interface ServerCertificate {
  /** Options for a TLS server, or to be set on one. */
  options(): TlsOptions;
  /** Calls the listener when {@link options} has changed; returns how to stop that. */
  onChange(listener: () => void): () => void;
  /** Why files that changed are not in use, or that the certificate is not valid now; undefined: all is well. */
  problem(now: number): string | undefined;
  /** End of validity, in milliseconds since the epoch. */
  readonly expires: number;
  /** How often new files could not be used. */
  readonly failures: number;
  /** Stops following the files. */
  close(): void;
}

export interface CertificateOptions {
  /** Reads all parts anew; rejects when one cannot be read. */
  readonly read: () => Promise<Pems>;
  /** Files that are followed. */
  readonly files: readonly string[];
  /** How often they are looked at even when nothing was heard of them, in milliseconds; default 10,000. */
  readonly pollMs?: number;
  readonly logger: Logger;
}

const POLL_MS = 10_000;
/** A certificate and its key are written one after the other; looked at after this, in milliseconds. */
const SETTLE_MS = 100;

/** Reads certificate, key and client authorities, and follows them. Rejects with `InvalidSettings`. */
export async function loadCertificate(options: CertificateOptions): Promise<ServerCertificate> {
  const pems = await options.read().catch((cause) => {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError('InvalidSettings', `https: ${message}`, { cause });
  });
  return new FollowedCertificate(options, pems, check(pems));
}

/** The reader for files named in the settings. */
export function fileReader(files: {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string;
}): () => Promise<Pems> {
  const { certFile, keyFile, clientCaFile } = files;
  return async () => {
    const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
    if (clientCaFile === undefined) return { cert, key };
    return { cert, key, clientCa: await readFile(clientCaFile, 'utf8') };
  };
}

class FollowedCertificate implements ServerCertificate {
  readonly #options: CertificateOptions;
  readonly #listeners = new Set<() => void>();
  readonly #watchers: FSWatcher[] = [];
  readonly #poll: NodeJS.Timeout;
  #settle: NodeJS.Timeout | undefined;
  #reading = false;
  #pems: Pems;
  #leaf: X509Certificate;
  #complaint = '';
  #failures = 0;

  constructor(options: CertificateOptions, pems: Pems, leaf: X509Certificate) {
    this.#options = options;
    this.#pems = pems;
    this.#leaf = leaf;
    this.#poll = setInterval(() => void this.#reread(), options.pollMs ?? POLL_MS).unref();
    this.#watchFolders();
  }

  get expires(): number {
    return this.#leaf.validToDate.getTime();
  }

  get failures(): number {
    return this.#failures;
  }

  options(): TlsOptions {
    const { cert, key, clientCa } = this.#pems;
    const common: TlsOptions = { cert, key, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] };
    if (clientCa === undefined) return common;
    // Whoever has no certificate may have a token; what a certificate is worth is looked at per request.
    return { ...common, ca: clientCa, requestCert: true, rejectUnauthorized: false };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  problem(now: number): string | undefined {
    if (this.#complaint !== '')
      return `the files have changed, the old ones are kept: ${this.#complaint}`;
    if (now > this.expires) return `expired at ${this.#leaf.validToDate.toISOString()}`;
    if (now >= this.#leaf.validFromDate.getTime()) return undefined;
    return `not valid before ${this.#leaf.validFromDate.toISOString()}`;
  }

  close(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#settle);
    for (const watcher of this.#watchers) watcher.close();
    this.#listeners.clear();
  }

  /** Folders, for Kubernetes and most tools replace files (and symlinks) rather than write to them. */
  #watchFolders(): void {
    for (const folder of new Set(this.#options.files.map((file) => dirname(file)))) {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#soon());
        // The poll goes on without it.
        watcher.on('error', () => watcher.close());
        this.#watchers.push(watcher);
      } catch (err) {
        this.#options.logger.debug({ err, folder }, 'changes of certificates are polled for only');
      }
    }
  }

  #soon(): void {
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      void this.#reread();
    }, SETTLE_MS).unref();
  }

  async #reread(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const pems = await this.#options.read();
      if (!isSame(pems, this.#pems)) this.#adopt(pems, check(pems));
      this.#complaint = '';
    } catch (error) {
      this.#complain(WrapperError.from(error, 'InvalidSettings').message);
    } finally {
      this.#reading = false;
    }
  }

  #adopt(pems: Pems, leaf: X509Certificate): void {
    this.#pems = pems;
    this.#leaf = leaf;
    this.#options.logger.info({ expires: leaf.validToDate }, 'the https certificate has changed');
    for (const listener of this.#listeners) listener();
  }

  #complain(message: string): void {
    this.#failures++;
    if (message !== this.#complaint) {
      this.#options.logger.error(
        { err: message },
        'new https files cannot be used; the old ones are kept',
      );
    }
    this.#complaint = message;
  }
}

/** Throws what is wrong with the parts, or how they do not fit together; returns the first certificate. */
function check({ cert, key, clientCa }: Pems): X509Certificate {
  try {
    if (clientCa !== undefined) assertCertificates(clientCa);
    createSecureContext({ cert, key, ...(clientCa === undefined ? {} : { ca: clientCa }) });
    const leaf = new X509Certificate(cert);
    // An empty file is no error to OpenSSL.
    if (leaf.checkPrivateKey(createPrivateKey(key))) return leaf;
    throw new Error('key values mismatch');
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError('InvalidSettings', `https: certificate, key or client CA: ${message}`, {
      cause,
    });
  }
}

function isSame(a: Pems, b: Pems): boolean {
  return a.cert === b.cert && a.key === b.key && a.clientCa === b.clientCa;
}
