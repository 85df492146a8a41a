import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { checkKubeconfig, checkSockets } from '../../src/commands/node/check/check-connection.ts';
import { wrapperListeners } from '../../src/commands/node/check/wrapper-listeners.ts';
import { useFolder } from '../support/use-folder.ts';

const HTTP = 'http://127.0.0.1:10360';
const HTTPS = 'https://127.0.0.1:10362';

let folder: string;

beforeEach(() => {
  folder = useFolder();
});

/** The listeners of a wrapper with these URLs. The first is `listen` of the table. */
function listeners(listen: string, https?: string) {
  return wrapperListeners({ listen, ...(https === undefined ? {} : { https }) });
}

function kubeconfig(server: string): string {
  const file = join(folder, 'kubeconfig');
  const cluster = { server, 'certificate-authority': '/ca.crt' };
  const text = JSON.stringify({
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a' } }],
    clusters: [{ name: 'a', cluster }],
  });
  writeFileSync(file, text);
  return file;
}

describe('checkKubeconfig()', () => {
  // The table once named only the http listener, so a kube-proxy on the https listener failed the check.
  test.each([
    [HTTP, 'ok'],
    [HTTPS, 'ok'],
    ['https://127.0.0.1:10360', 'problem'],
    ['https://127.0.0.1:6443', 'problem'],
  ])('with an http and an https listener, the server %s is %s', async (server, state) => {
    expect(await checkKubeconfig(kubeconfig(server), listeners(HTTP, HTTPS))).toMatchObject({
      state,
    });
  });

  // js-yaml quotes the faulty line. It was printed, and check ended without any line.
  test('a malformed kubeconfig is a problem, and its token is not printed', async () => {
    const file = join(folder, 'kubeconfig');
    writeFileSync(file, 'users:\n- name: a\n  user:\n    token: "secret\n  x: "y\n');
    const line = await checkKubeconfig(file, listeners(HTTP));
    expect(line).toMatchObject({ state: 'problem', id: 'kubeconfig' });
    expect(line.text).toMatch(/^cannot read .*kubeconfig: .+$/);
    expect(line.text).not.toContain('secret');
  });

  test('the advice names both listeners', async () => {
    const line = await checkKubeconfig(kubeconfig('https://10.0.0.1'), listeners(HTTP, HTTPS));
    expect(line).toMatchObject({
      text: expect.stringContaining(
        `names https://10.0.0.1, but the wrapper listens at ${HTTP} and ${HTTPS}`,
      ),
      next: expect.stringContaining(`set server: ${HTTP} or ${HTTPS} in it`),
    });
  });

  test.each([
    ['https://0.0.0.0:10362', 'https://127.0.0.1:10362', 'ok'],
    ['https://0.0.0.0:10362', 'https://localhost:10362', 'ok'],
    ['https://0.0.0.0:10362', 'https://192.0.2.1:10362', 'problem'],
    ['https://[::]:10362', 'https://127.0.0.1:10362', 'ok'],
    ['https://[::]:10362', 'https://[2001:db8::1]:10362', 'problem'],
    ['https://[::1]:10362', 'https://[0:0::1]:10362', 'ok'],
  ])('a listener at %s: an address of this node, %s, is %s', async (listen, server, state) => {
    expect(await checkKubeconfig(kubeconfig(server), listeners(listen))).toMatchObject({
      state,
    });
  });

  test('a listener on all addresses is named with a loopback address', async () => {
    const line = await checkKubeconfig(kubeconfig('https://a'), listeners('https://0.0.0.0:10362'));
    expect(line.next).toContain('set server: https://127.0.0.1:10362 in it');
  });

  // URL rejects the first, which once ended the whole check, and parses the second as a scheme.
  test.each([
    ['127.0.0.1:10360', HTTP, 'ok'],
    ['localhost:10360', HTTP, 'ok'],
    ['[::1]:10360', 'http://[::1]:10360', 'ok'],
    ['127.0.0.1:10362', HTTPS, 'problem'],
    ['', HTTP, 'problem'],
    ['http://no-such-name.invalid:10360', HTTP, 'problem'],
  ])('a server without a scheme is plain http: %s for %s is %s', async (server, listen, state) => {
    expect(await checkKubeconfig(kubeconfig(server), listeners(listen))).toMatchObject({
      state,
    });
  });
});

/** Creates a /proc with one kube-proxy. `peers` are in the format of /proc/net/tcp. */
function procWith(...peers: string[]): string {
  const proc = join(folder, 'proc');
  const own = join(proc, '7');
  for (const path of ['self/ns', '7/ns', '7/fd', '7/net'])
    mkdirSync(join(proc, path), { recursive: true });
  symlinkSync('net:[1]', join(proc, 'self/ns/net'));
  symlinkSync('net:[1]', join(own, 'ns/net'));
  writeFileSync(join(own, 'cmdline'), '/usr/local/bin/kube-proxy\0--v=2\0');
  const lines = peers.map((peer, index) => {
    symlinkSync(`socket:[${index}]`, join(own, 'fd', `${index}`));
    return `${index}: 0100007F:C350 ${peer} 01 0:0 0:0 0 0 0 ${index}`;
  });
  writeFileSync(join(own, 'net/tcp'), ['  sl  local_address …', ...lines].join('\n'));
  return proc;
}

/** 127.0.0.1 with the ports 10360 and 10362, and 10.0.0.1:6443. */
const [PLAIN, SECURE, PAST] = ['0100007F:2878', '0100007F:287A', '0100000A:192B'];

describe('checkSockets()', () => {
  test.each([
    ['the plain door', [PLAIN], 'ok', 'port 10360 of'],
    ['the https door', [SECURE], 'ok', 'port 10362 of'],
    ['both', [SECURE, PLAIN], 'ok', 'port 10360 and 10362 of'],
    [
      'an API server too',
      [SECURE, PAST],
      'problem',
      'is connected to 10.0.0.1:6443, past the wrapper',
    ],
    ['nothing', [], 'problem', 'has no connection'],
  ])('kube-proxy with a connection to %s', async (_, peers, state, text) => {
    const line = await checkSockets(listeners(HTTP, HTTPS), procWith(...peers));
    expect(line).toMatchObject({ state, text: expect.stringContaining(text) });
  });

  test('a listener on all addresses matches each of them', async () => {
    const all = listeners('https://0.0.0.0:10362');
    expect(await checkSockets(all, procWith(SECURE))).toMatchObject({ state: 'ok' });
  });
});
