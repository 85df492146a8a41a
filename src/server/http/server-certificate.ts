import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type TlsOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { FileFollower } from '../../client/system/file-follower.ts';
import { WrapperError } from '../../errors.ts';

/** The files of the https listener, PEM. */
export interface CertificateFiles {
  /** The certificate with its intermediates. */
  readonly certFile: string;
  readonly keyFile: string;
}

/** Their content. */
interface CertificatePems {
  readonly cert: string;
  readonly key: string;
}

/** The certificate of the https listener. It follows changes of the files. */
export class ServerCertificate {
  readonly #files: CertificateFiles;
  readonly #logger: Logger;
  readonly #listeners = new Set<() => void>();
  readonly #follower: FileFollower;
  /** The files in use, and their first certificate. */
  #current: { readonly pems: CertificatePems; readonly leaf: X509Certificate };

  /** Reads certificate and key. Rejects with `InvalidSettings`. */
  static async load(files: CertificateFiles, logger: Logger): Promise<ServerCertificate> {
    const pems = await readPems(files).catch((cause) => {
      const { message } = WrapperError.from(cause, 'InvalidSettings');
      throw new WrapperError('InvalidSettings', `https: ${message}`, { cause });
    });
    return new ServerCertificate(files, pems, logger);
  }

  private constructor(files: CertificateFiles, pems: CertificatePems, logger: Logger) {
    this.#files = files;
    this.#logger = logger;
    this.#current = { pems, leaf: checkCertificate(pems, files) };
    this.#follower = new FileFollower({
      read: () => this.#reread(),
      onFailure: (error) => {
        const { message: err } = WrapperError.from(error, 'InvalidSettings');
        logger.error({ err }, 'new https files cannot be used; the old ones are kept');
      },
      watched: [files.certFile, files.keyFile],
    });
  }

  /** When it is valid. */
  get valid(): { readonly from: Date; readonly to: Date } {
    const { validFromDate, validToDate } = this.#current.leaf;
    return { from: validFromDate, to: validToDate };
  }

  /** How often changed files could not be used. */
  get failures(): number {
    return this.#follower.failures;
  }

  /** Options for a TLS server, at its creation or later. */
  options(): TlsOptions {
    return { ...this.#current.pems, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] };
  }

  /** Calls the listener when {@link options} changes. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Why changed files are not in use, or why the certificate is not valid now; undefined: no problem. */
  problem(now: number): string | undefined {
    const unusable = this.#follower.problem;
    if (unusable !== undefined) return `the files have changed, the old ones are kept: ${unusable}`;
    const { from, to } = this.valid;
    if (now > to.getTime()) return `expired at ${to.toISOString()}`;
    if (now >= from.getTime()) return undefined;
    return `not valid before ${from.toISOString()}`;
  }

  /** Stops following the files. */
  close(): void {
    this.#follower.close();
    this.#listeners.clear();
  }

  async #reread(): Promise<void> {
    const pems = await readPems(this.#files);
    if (isDeepStrictEqual(pems, this.#current.pems)) return;
    this.#current = { pems, leaf: checkCertificate(pems, this.#files) };
    const expires = this.#current.leaf.validToDate;
    this.#logger.info({ expires }, 'the https certificate has changed');
    for (const listener of this.#listeners) listener();
  }
}

async function readPems({ certFile, keyFile }: CertificateFiles): Promise<CertificatePems> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { cert, key };
}

/** Throws if a file is invalid, or if they do not belong together; returns the first certificate. */
function checkCertificate(pems: CertificatePems, files: CertificateFiles): X509Certificate {
  const { cert, key } = pems;
  const leaf = parse(files.certFile, () => new X509Certificate(cert));
  const privateKey = parse(files.keyFile, () => createPrivateKey(key));
  if (!leaf.checkPrivateKey(privateKey)) {
    const problem = `the key in ${files.keyFile} is not of the certificate in ${files.certFile}`;
    throw new WrapperError('InvalidSettings', `https: ${problem}: put both of one pair there`);
  }
  // What TLS demands besides, also of the certificates after the first.
  parse(files.certFile, () => createSecureContext(pems));
  return leaf;
}

function parse<Part>(file: string, read: () => Part): Part {
  try {
    return read();
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError('InvalidSettings', `https: ${file}: ${message}`, { cause });
  }
}
