import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { chmod, readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { certificatesIn, privateKeyIn } from '../util/pem.ts';
import { replaceFile } from '../util/replace-file.ts';

export interface SelfSignedOptions {
  /** File for the certificate of the authority. kube-proxy's kubeconfig refers to it. */
  readonly caFile: string;
  /**
   * File for certificate and key (mode 0600), so that a restart uses the same certificate. Absent: the key never
   * leaves memory, and each start creates a new authority.
   */
  readonly keyFile?: string;
  /** DNS names and IP addresses that clients use for us. */
  readonly names: readonly string[];
}

/**
 * Prefix of the name of every authority created here. Other authorities in the file are removed. Each authority has
 * its own name, because OpenSSL looks up the key of an authority by name.
 */
const AUTHORITY = 'kube-proxy-wrapper self-signed CA';
/**
 * Fixed, because a node may boot with its clock in the past. Clients decide how long they trust the certificate: as
 * long as they use the file with the authority.
 */
const VALIDITY = {
  notBeforeDate: new Date('2020-01-01T00:00:00Z'),
  notAfterDate: new Date('2049-12-31T00:00:00Z'),
};
/** Maximum number of authorities in the file: ours, and those of processes that may still run. */
const MAX_AUTHORITIES = 3;

interface CertificateAndKey {
  readonly cert: string;
  readonly key: string;
  /** Certificate of the authority. */
  readonly ca: string;
}

/**
 * Creates an authority and a certificate, and writes the certificate of the authority. The key of the authority is
 * not kept, so no other certificate can be issued. Rejects with `InvalidSettings` if a file cannot be written.
 */
export async function makeSelfSigned(
  options: SelfSignedOptions,
  logger: Logger,
): Promise<CertificateAndKey> {
  const kept = options.keyFile === undefined ? undefined : await readKept(options);
  const pair = kept ?? (await makePair(options.names));
  try {
    if (options.keyFile !== undefined && kept !== undefined) {
      await makePrivate(options.keyFile, logger);
    } else if (options.keyFile !== undefined) {
      await replaceFile(options.keyFile, 0o600, (file) =>
        file.writeFile(`${pair.cert}\n${pair.key}\n${pair.ca}\n`),
      );
    }
    const current = await readFile(options.caFile, 'utf8').catch(() => '');
    const others = authoritiesIn(current).filter((each) => each !== trim(pair.ca));
    const bundle = `${[trim(pair.ca), ...others].slice(0, MAX_AUTHORITIES).join('\n')}\n`;
    // Without a change nothing is written: the start must not fail because the disk is full or read-only.
    if (current !== bundle)
      await replaceFile(options.caFile, 0o644, (file) => file.writeFile(bundle));
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError('InvalidSettings', `https.selfSigned: ${message}`, { cause });
  }
  return pair;
}

async function makePair(names: readonly string[]): Promise<CertificateAndKey> {
  // Loaded only where it is needed, because it takes 25 MB of memory.
  // It is CommonJS: in the bundle, a part that is loaded later has nothing but its default export.
  const { default: selfsigned } = await import('selfsigned');
  const { generate } = selfsigned;
  const common = { keyType: 'ec', algorithm: 'sha256', ...VALIDITY } as const;
  const name = `${AUTHORITY} ${randomBytes(6).toString('hex')}`;
  const authority = await generate([{ name: 'commonName', value: name }], {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const leaf = await generate([{ name: 'commonName', value: 'kube-proxy-wrapper' }], {
    ...common,
    ca: { cert: authority.cert, key: authority.private },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: names.map((each) =>
          isIP(each) === 0 ? { type: 2, value: each } : { type: 7, ip: each },
        ),
      },
    ],
  });
  return { cert: leaf.cert, key: leaf.private, ca: authority.cert };
}

/** The certificate that an earlier process wrote, if it is usable and valid for the same names. */
async function readKept({
  keyFile = '',
  names,
}: SelfSignedOptions): Promise<CertificateAndKey | undefined> {
  try {
    const text = await readFile(keyFile, 'utf8');
    const [cert = '', ca = ''] = certificatesIn(text);
    const pair = { cert, ca, key: privateKeyIn(text) ?? '' };
    const leaf = new X509Certificate(cert);
    // TLS accepts an empty key without an error.
    if (!leaf.checkPrivateKey(createPrivateKey(pair.key))) return undefined;
    const serves = names.every((name) => (isIP(name) ? leaf.checkIP(name) : leaf.checkHost(name)));
    return serves && leaf.verify(new X509Certificate(ca).publicKey) ? pair : undefined;
  } catch {
    // There is no file yet, or it is not usable: a new certificate replaces it.
    return undefined;
  }
}

/** Warns if others can read the key, and corrects the mode if the file is ours. They may have read it before. */
async function makePrivate(keyFile: string, logger: Logger): Promise<void> {
  const mode = (await stat(keyFile)).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  logger.warn(
    { keyFile, mode: mode.toString(8) },
    'https.selfSigned: others could read the key; delete the file and restart for a new one',
  );
  await chmod(keyFile, 0o600).catch(() => {});
}

/** The readable certificates in a file that are authorities created here. */
function authoritiesIn(text: string): string[] {
  return certificatesIn(text).filter((pem) => {
    try {
      return new X509Certificate(pem).subject.startsWith(`CN=${AUTHORITY} `);
    } catch {
      return false;
    }
  });
}

function trim(pem: string): string {
  return pem.trim().replaceAll('\r\n', '\n');
}
