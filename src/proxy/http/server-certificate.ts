import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type TlsOptions } from 'node:tls';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { FileFollower } from '../util/file-follower.ts';
import { assertCertificates } from '../util/pem.ts';

/** The files of the https listener as PEM text: its certificate, and the authorities that it trusts. */
export interface CertificatePems {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates; absent: clients need no certificate. */
  readonly clientCa?: string;
}

/** The certificate of the https listener. It may change while the listener is open. */
export interface ServerCertificate {
  /** Options for a TLS server, at its creation or later. */
  options(): TlsOptions;
  /** Calls the listener when {@link options} changes; returns a function that stops this. */
  onChange(listener: () => void): () => void;
  /** Why changed files are not in use, or why the certificate is not valid now; undefined: no problem. */
  problem(now: number): string | undefined;
  /** End of validity, in milliseconds since the epoch. */
  readonly expires: number;
  /** How often changed files could not be used. */
  readonly failures: number;
  /** Stops following the files. */
  close(): void;
}

export interface CertificateOptions {
  /** Reads all files again; rejects if one cannot be read. */
  readonly read: () => Promise<CertificatePems>;
  /** The files to watch for changes. */
  readonly files: readonly string[];
  /** How often they are read even without a notification of a change, in milliseconds; default 10,000. */
  readonly pollMs?: number;
  readonly logger: Logger;
}

/** Reads certificate, key and client authorities, and follows changes. Rejects with `InvalidSettings`. */
export async function loadCertificate(options: CertificateOptions): Promise<ServerCertificate> {
  const pems = await options.read().catch((cause) => {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError('InvalidSettings', `https: ${message}`, { cause });
  });
  return new FollowedCertificate(options, pems, check(pems));
}

/** Returns a function that reads the files named in the settings. */
export function certificateFileReader(files: {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string;
}): () => Promise<CertificatePems> {
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
  readonly #follower: FileFollower;
  /** The files in use, and their first certificate. */
  #current: { readonly pems: CertificatePems; readonly leaf: X509Certificate };

  constructor(options: CertificateOptions, pems: CertificatePems, leaf: X509Certificate) {
    this.#options = options;
    this.#current = { pems, leaf };
    this.#follower = new FileFollower({
      read: () => this.#reread(),
      onFailure: (error) => {
        const { message: err } = WrapperError.from(error, 'InvalidSettings');
        options.logger.error({ err }, 'new https files cannot be used; the old ones are kept');
      },
      watched: options.files,
      pollMs: options.pollMs,
    });
  }

  get expires(): number {
    return this.#current.leaf.validToDate.getTime();
  }

  get failures(): number {
    return this.#follower.failures;
  }

  options(): TlsOptions {
    const { cert, key, clientCa } = this.#current.pems;
    const common: TlsOptions = { cert, key, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] };
    if (clientCa === undefined) return common;
    // A client without a certificate may have a token. The certificate is checked for each request.
    return { ...common, ca: clientCa, requestCert: true, rejectUnauthorized: false };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  problem(now: number): string | undefined {
    const unusable = this.#follower.problem;
    if (unusable !== undefined) return `the files have changed, the old ones are kept: ${unusable}`;
    const { validFromDate, validToDate } = this.#current.leaf;
    if (now > validToDate.getTime()) return `expired at ${validToDate.toISOString()}`;
    if (now >= validFromDate.getTime()) return undefined;
    return `not valid before ${validFromDate.toISOString()}`;
  }

  close(): void {
    this.#follower.close();
    this.#listeners.clear();
  }

  async #reread(): Promise<void> {
    const pems = await this.#options.read();
    if (isSame(pems, this.#current.pems)) return;
    this.#current = { pems, leaf: check(pems) };
    const expires = this.#current.leaf.validToDate;
    this.#options.logger.info({ expires }, 'the https certificate has changed');
    for (const listener of this.#listeners) listener();
  }
}

/** Throws if a part is invalid, or if certificate and key do not match; returns the first certificate. */
function check({ cert, key, clientCa }: CertificatePems): X509Certificate {
  try {
    if (clientCa !== undefined) assertCertificates(clientCa);
    createSecureContext({ cert, key, ca: clientCa });
    const leaf = new X509Certificate(cert);
    // OpenSSL accepts an empty file without an error.
    if (leaf.checkPrivateKey(createPrivateKey(key))) return leaf;
    throw new Error('key values mismatch');
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError('InvalidSettings', `https: certificate, key or client CA: ${message}`, {
      cause,
    });
  }
}

function isSame(a: CertificatePems, b: CertificatePems): boolean {
  return a.cert === b.cert && a.key === b.key && a.clientCa === b.clientCa;
}
