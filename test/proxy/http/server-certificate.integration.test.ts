import { execSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { readiness } from '../../../src/admin/health/readiness.ts';
import { eventually } from '../../support/eventually.ts';
import { issue, type KeyPair, makeAuthority } from '../../support/http/certificates.ts';
import { useFolder } from '../../support/use-folder.ts';
import { CLIENT_AUTHORITY, issueClient, useHttps } from '../../support/wrapper/https-wrapper.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const SERVICES = '/api/v1/services';

let folder: string;

beforeEach(() => {
  folder = useFolder();
});

/** Subject of the certificate that a port presents. */
async function shown(port: number): Promise<string | undefined> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerX509Certificate() ?? {};
  socket.destroy();
  return subject;
}

/** A file with two certificates. The second one is only partially written. */
const torn = (pem: string): string => `${pem}\n${pem.slice(0, pem.length / 2)}`;

describe('certificate files', () => {
  test('are followed; if certificate and key do not match, the old ones remain in use, which is logged once', async () => {
    const { logger, lines } = recordingLogger();
    const wrapper = await useHttps({}, { logger });
    const { port, proxy } = wrapper;
    const write = ({ cert, key }: KeyPair): void => {
      writeFileSync(join(wrapper.folder, 'tls.crt'), cert);
      writeFileSync(join(wrapper.folder, 'tls.key'), key);
    };
    const problem = () =>
      readiness(proxy).find(({ name }) => name === 'https-certificate')?.problem;
    expect(await shown(port)).toBe('CN=wrapper');
    expect(problem()).toBeUndefined();
    const [one, other] = [await issue(CLIENT_AUTHORITY, 'one'), await issue(CLIENT_AUTHORITY, 'x')];
    write({ cert: one.cert, key: other.key });
    await eventually(() => problem() !== undefined, true);
    expect(problem()).toMatch(/the old ones are kept: .*(mismatch|key)/i);
    expect(await shown(port)).toBe('CN=wrapper');
    expect((await wrapper.ask(SERVICES, { token: 'a' })).code).toBe(200);
    writeFileSync(join(wrapper.folder, 'tls.key'), other.key);
    write(one);
    const written = performance.now();
    await eventually(() => shown(port), 'CN=one');
    // Without the file watch, the next poll would be after 10 s.
    expect(performance.now() - written).toBeLessThan(9_000);
    expect(problem()).toBeUndefined();
    expect(lines.filter(({ msg }) => /cannot be used/.test(msg))).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toMatch(/PRIVATE KEY/);
  });

  test('of client authorities: a client on an old connection must connect again, and is verified again', async () => {
    const wrapper = await useHttps();
    const { port, ca } = wrapper;
    const cert = await issueClient('a', []);
    const tls = { host: '127.0.0.1', port, ca };
    const open = async (options: object): Promise<TLSSocket> => {
      const socket = connect({ ...tls, ...options });
      await once(socket, 'secureConnect');
      return socket;
    };
    const codeOn = async (socket: TLSSocket, more = ''): Promise<string> => {
      socket.write(`GET ${SERVICES} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
      const [head] = (await once(socket, 'data')) as [Buffer];
      return head.toString().slice(9, 12);
    };
    const theirs = await open(cert);
    const unused = await open(cert);
    const bearer = await open({});
    const token = 'Authorization: Bearer t\r\n';
    expect(await codeOn(theirs)).toBe('200');
    expect(await codeOn(bearer, token)).toBe('200');
    // A connection that has not sent anything in TLS yet.
    const slow = connectTcp(port, '127.0.0.1');
    await once(slow, 'connect');
    const authority = await makeAuthority();
    writeFileSync(join(wrapper.folder, 'client-ca.crt'), authority.cert);
    await eventually(async () => (await wrapper.ask(SERVICES, { cert })).code, 401);
    const next = await issueClient('a', [], { authority });
    expect((await wrapper.ask(SERVICES, { cert: next })).code).toBe(200);
    const closed = once(theirs, 'close');
    expect(await codeOn(theirs)).toBe('401');
    await closed;
    expect(await codeOn(unused)).toBe('401');
    expect(await codeOn(await open({ socket: slow, ...cert }))).toBe('401');
    expect(await codeOn(bearer, token)).toBe('200');
    bearer.destroy();
  });

  test('of client authorities: an old TLS session is refused', async () => {
    const wrapper = await useHttps();
    const { port } = wrapper;
    const cert = await issueClient('a', []);
    const tls = { host: '127.0.0.1', port, rejectUnauthorized: false };
    const first = connect({ ...tls, ...cert });
    const ticket = once(first, 'session') as Promise<[Buffer]>;
    const codeOn = async (socket: TLSSocket): Promise<string> => {
      socket.write(`GET ${SERVICES} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return (await text(socket)).slice(9, 12);
    };
    expect(await codeOn(first)).toBe('200');
    const [session] = await ticket;
    // The client presents no certificate; its identity is in the session.
    const resumed = connect({ ...tls, session });
    expect(await codeOn(resumed)).toBe('200');
    writeFileSync(join(wrapper.folder, 'client-ca.crt'), (await makeAuthority()).cert);
    await eventually(async () => (await wrapper.ask(SERVICES, { cert })).code, 401);
    const late = connect({ ...tls, session });
    expect(await codeOn(late)).toBe('401');
  });

  test.each([
    ['tls.crt', 'is missing', () => undefined],
    ['tls.key', 'is empty', () => ''],
    ['client-ca.crt', 'holds no certificate', () => 'nothing'],
    ['client-ca.crt', 'ends halfway', torn],
    ['tls.crt', 'ends halfway', torn],
  ])('%s that %s: it does not start, and says why', async (name, _what, content) => {
    const pair = await issue(await makeAuthority(), 'a');
    const files = { 'tls.crt': pair.cert, 'tls.key': pair.key, 'client-ca.crt': pair.cert };
    for (const [each, whole] of Object.entries(files)) {
      const text = each === name ? content(whole) : whole;
      if (text !== undefined) writeFileSync(join(folder, each), text);
    }
    const started = useHttps({
      certFile: join(folder, 'tls.crt'),
      keyFile: join(folder, 'tls.key'),
      clientCaFile: join(folder, 'client-ca.crt'),
    });
    await expect(started).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringMatching(/^https: /),
    });
  });
});

test('the command of docs/identity.md makes a certificate that clients of the wrapper trust', async () => {
  const docs = readFileSync(join(import.meta.dirname, '../../../docs/identity.md'), 'utf8');
  const [command = ''] = /openssl req (.*\\\n)*.*/.exec(docs) ?? [];
  execSync(command, { cwd: folder, stdio: 'ignore' });
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const wrapper = await useHttps({ certFile, keyFile });
  const ca = readFileSync(certFile, 'utf8');
  expect((await wrapper.ask(SERVICES, { token: 'a', ca })).code).toBe(200);
});
