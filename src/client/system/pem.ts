import { X509Certificate } from 'node:crypto';

const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The complete certificates in a text, each as PEM. */
export function certificatesIn(text: string): string[] {
  return text.match(CERTIFICATE) ?? [];
}

/**
 * Throws if there is no certificate in a text, or if one is incomplete or cannot be parsed. OpenSSL and Node ignore
 * both without an error.
 */
export function assertCertificates(pem: string | Buffer): void {
  const text = pem.toString();
  const complete = certificatesIn(text);
  const begun = text.split(BEGIN_CERTIFICATE).length - 1;
  if (begun === 0) throw new Error('no certificate in PEM');
  if (begun !== complete.length) throw new Error('a certificate ends halfway');
  for (const certificate of complete) new X509Certificate(certificate);
}
