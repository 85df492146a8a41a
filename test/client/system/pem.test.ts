import { beforeAll, describe, expect, test } from '@jest/globals';
import { type KeyPair, makeAuthority } from '../../../harness/certificates.ts';
import { assertCertificates, certificatesIn } from '../../../src/client/system/pem.ts';

let pair: KeyPair;

beforeAll(async () => {
  pair = await makeAuthority();
});

test('the certificates of a bundle are found, without its key and the text around them', () => {
  const [cert, key] = [pair.cert.trim(), pair.key.trim()];
  const bundle = `subject: a\n${cert}\n${key}\n${cert}\n`;
  expect(certificatesIn(bundle)).toEqual([cert, cert]);
  expect(certificatesIn(key)).toEqual([]);
});

describe('a bundle of authorities', () => {
  test.each([
    ['is empty', () => '', 'no certificate in PEM'],
    ['ends halfway', () => pair.cert + pair.cert.slice(0, 100), 'a certificate ends halfway'],
    [
      'holds another thing in PEM',
      () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      /./,
    ],
  ])('is refused if it %s', (_what, text, message) => {
    expect(() => assertCertificates(text())).toThrow(message);
  });

  test('is accepted if all are complete', () => {
    expect(() => assertCertificates(Buffer.from(pair.cert + pair.cert))).not.toThrow();
  });
});
