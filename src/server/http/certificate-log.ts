import type { Level, Logger } from 'pino';
import type { ServerCertificate } from './server-certificate.ts';

export interface CertificateLogOptions {
  /** The time of day, in milliseconds since the epoch; default: `Date.now`. */
  readonly now?: () => number;
  /** How often the certificate is looked at, in milliseconds; default 60,000: the clock may be set meanwhile. */
  readonly checkMs?: number;
}

const CHECK_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
/**
 * How long before its end a certificate is warned of: this time, or a part of its life if that is shorter. cert-manager
 * renews it earlier, after two thirds of its life.
 */
const WARN_MS = 14 * DAY_MS;
const WARN_SHARE = 1 / 4;
const DO = 'replace certFile and keyFile, which are read again automatically';

/**
 * Logs that a certificate expires soon, and, within a minute, that it has; again each day. Clients only log their own
 * error, and those that read from a relay just leave it. Returns how to stop.
 */
export function logExpiry(
  certificate: Pick<ServerCertificate, 'valid'>,
  logger: Logger,
  { now = Date.now, checkMs = CHECK_MS }: CertificateLogOptions = {},
): () => void {
  let last = { text: '', at: Number.NEGATIVE_INFINITY };
  const look = (): void => {
    const at = now();
    const { from, to } = certificate.valid;
    const [level, text] = findingOf(from.getTime(), to.getTime(), at);
    // A clock that is set back does not silence it.
    const isSaid = text === last.text && Math.abs(at - last.at) < DAY_MS;
    if (isSaid) return;
    last = { text, at };
    if (level !== undefined) logger[level]({ notBefore: from, expires: to }, text);
  };
  look();
  const timer = setInterval(look, checkMs).unref();
  return () => clearInterval(timer);
}

function findingOf(
  from: number,
  to: number,
  now: number,
): [level: Level | undefined, text: string] {
  if (now > to) {
    return ['error', `the https certificate has expired, so that clients refuse it; ${DO}`];
  }
  if (now < from) {
    const check = 'check the clock of this machine';
    return ['error', `the https certificate is not valid yet, so that clients refuse it; ${check}`];
  }
  if (to - now > Math.min(WARN_MS, (to - from) * WARN_SHARE)) return [undefined, ''];
  return ['warn', `the https certificate expires soon; ${DO}`];
}
