import { X509Certificate } from 'node:crypto';

/**
 * Throws for authorities of which there are none, or one is half-written: OpenSSL and Node take what is there
 * without a word.
 */
export function assertCertificates(pem: string | Buffer): void {
  const text = pem.toString();
  const whole = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const begun = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (begun === 0) throw new Error('no certificate in PEM');
  if (begun !== whole.length) throw new Error('a certificate ends halfway');
  for (const each of whole) new X509Certificate(each);
}
