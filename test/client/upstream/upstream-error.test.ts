import { expect, test } from '@jest/globals';
import { unreachable } from '../../../src/client/upstream/upstream-error.ts';

const server = new URL('https://api.example:6443');
const refused = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' });

// rancher/rancher#22750: a part of a product did not use the proxy, and nothing said so.
test.each(['HTTPS_PROXY', 'https_proxy'])(
  'an API server that is unreachable names %s, which is not used',
  (name) => {
    const { message } = unreachable(refused, server, { env: { [name]: 'http://proxy:3128' } });
    expect(message).toBe(
      `the API server at api.example:6443 is unreachable: ECONNREFUSED: connect refused; ${name} is set, but the connection is direct: see docs/settings.md`,
    );
  },
);

test('without a proxy in the environment nothing is said of one', () => {
  for (const env of [{}, { HTTPS_PROXY: '' }]) {
    expect(unreachable(refused, server, { env }).message).not.toMatch(/proxy/i);
  }
});

// What was shown as current had missed the changes of that time.
test('a path that TCP keep-alive finds dead was silent for 25 s', () => {
  const error = Object.assign(new Error('read ETIMEDOUT'), { code: 'ETIMEDOUT' });
  expect(unreachable(error, server)).toMatchObject({ code: 'Unreachable', silentMs: 25_000 });
  expect(unreachable(new Error('read ECONNRESET'), server).silentMs).toBeUndefined();
});

// Node's own text advises on its command line, which a container does not have.
test.each([
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is signed by another authority'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate is signed by another authority'],
  ['CERT_NOT_YET_VALID', 'its certificate is not valid yet, or the clock of this node is wrong'],
  // client-go does not read nsCertType (kelseyhightower/kubernetes-the-hard-way#800).
  [
    'INVALID_PURPOSE',
    'its certificate, or one of its authorities, is not for servers; see keyUsage, extendedKeyUsage and nsCertType',
  ],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another name: --use-system-ca'],
  ['ECONNREFUSED', '--use-system-ca'],
])('the cause of %s is that %s', (code, cause) => {
  const error = Object.assign(new Error('--use-system-ca'), { code });
  const { message, isRelay } = unreachable(error, server, { isRelay: true, env: {} });
  expect(message).toBe(`the relay at api.example:6443 is unreachable: ${code}: ${cause}`);
  expect([isRelay, unreachable(error, server).isRelay]).toEqual([true, false]);
});
