import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { chmod, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';

export interface SelfSignedOptions {
  /** Where the authority's certificate is written, for kube-proxy's kubeconfig. */
  readonly caFile: string;
  /**
   * Where certificate and key are kept (mode 0600), so that a restart shows the same certificate. Absent: the
   * key never leaves the memory, and each start makes a new authority.
   */
  readonly keyFile?: string;
  /** DNS names and IP addresses that clients call us by. */
  readonly names: readonly string[];
}

/**
 * How the name of every authority made here begins; others in the file are not ours to keep. No two have the
 * same name: OpenSSL would look for the key of one and take that of the other.
 */
const AUTHORITY = 'kube-proxy-wrapper self-signed CA';
/**
 * Fixed, for a node may boot with its clock in the past. How long the certificate is believed is decided by
 * who trusts the file with the authority.
 */
const VALIDITY = {
  notBeforeDate: new Date('2020-01-01T00:00:00Z'),
  notAfterDate: new Date('2049-12-31T00:00:00Z'),
};
/** Authorities kept in the file: ours, and those of processes that may still run while this one starts. */
const MAX_AUTHORITIES = 3;

interface Pair {
  readonly cert: string;
  readonly key: string;
  /** Certificate of the authority. */
  readonly ca: string;
}

/**
 * Makes an authority and a certificate, and writes the certificate of the authority. Its key is forgotten at
 * once: nobody can make a second certificate. Rejects with `InvalidSettings` when a file cannot be written.
 */
export async function makeSelfSigned(options: SelfSignedOptions, logger: Logger): Promise<Pair> {
  const kept = options.keyFile === undefined ? undefined : await readKept(options);
  const pair = kept ?? (await makePair(options.names));
  try {
    if (options.keyFile !== undefined && kept !== undefined) {
      await keepPrivate(options.keyFile, logger);
    } else if (options.keyFile !== undefined) {
      await writeAtomically(options.keyFile, `${pair.cert}\n${pair.key}\n${pair.ca}\n`, 0o600);
    }
    const there = await readFile(options.caFile, 'utf8').catch(() => '');
    const others = authoritiesIn(there).filter((each) => each !== trim(pair.ca));
    const bundle = `${[trim(pair.ca), ...others].slice(0, MAX_AUTHORITIES).join('\n')}\n`;
    // A start shall not fail for a disk that is full or read-only where there is nothing to be written.
    if (there !== bundle) await writeAtomically(options.caFile, bundle, 0o644);
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError('InvalidSettings', `https.selfSigned: ${message}`, { cause });
  }
  return pair;
}

async function makePair(names: readonly string[]): Promise<Pair> {
  // 25 MB of memory, so only where it is needed.
  const { generate } = await import('selfsigned');
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

/** What an earlier process kept, if it can be used and is for the same names. */
async function readKept({ keyFile = '', names }: SelfSignedOptions): Promise<Pair | undefined> {
  try {
    const text = await readFile(keyFile, 'utf8');
    const [cert = '', ca = ''] = certificatesIn(text);
    const key = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]+-----END [A-Z ]*PRIVATE KEY-----/.exec(
      text,
    );
    const pair = { cert, ca, key: key?.[0] ?? '' };
    const leaf = new X509Certificate(cert);
    // TLS takes an empty key without a word.
    if (!leaf.checkPrivateKey(createPrivateKey(pair.key))) return undefined;
    const serves = names.every((name) => (isIP(name) ? leaf.checkIP(name) : leaf.checkHost(name)));
    return serves && leaf.verify(new X509Certificate(ca).publicKey) ? pair : undefined;
  } catch {
    // None yet, or one that is no use: a new one takes its place.
    return undefined;
  }
}

/** Takes a key from others who may read it, if the file is ours, and says so: they may have done so. */
async function keepPrivate(keyFile: string, logger: Logger): Promise<void> {
  const mode = (await stat(keyFile)).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  logger.warn(
    { keyFile, mode: mode.toString(8) },
    'https.selfSigned: others could read the key; delete the file and restart for a new one',
  );
  await chmod(keyFile, 0o600).catch(() => {});
}

/** Our authorities in the text of a file, those that can be read. */
function authoritiesIn(text: string): string[] {
  return certificatesIn(text).filter((pem) => {
    try {
      return new X509Certificate(pem).subject.startsWith(`CN=${AUTHORITY} `);
    } catch {
      return false;
    }
  });
}

function certificatesIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function trim(pem: string): string {
  return pem.trim().replaceAll('\r\n', '\n');
}

/** Under another name first, so that nobody reads half of it. */
async function writeAtomically(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  // `wx`: a link that somebody else put there is not followed.
  await unlink(temporary).catch(() => {});
  const file = await open(temporary, 'wx', mode);
  try {
    await file.writeFile(text);
    // The umask may have taken away what kube-proxy needs to read it.
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
