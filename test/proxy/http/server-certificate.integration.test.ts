import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readiness } from '../../../src/admin/readiness.ts';
import { makeSelfSigned } from '../../../src/proxy/http/self-signed-certificate.ts';
import { eventually } from '../../support/eventually.ts';
import { issue, type KeyPair, makeAuthority } from '../../support/http/certificates.ts';
import { captureLogger } from '../../support/http/logger.ts';
import {
  ask,
  CLIENT_AUTHORITY,
  issueClient,
  startHttpsWrapper,
} from '../../support/wrapper/https-wrapper.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const SERVICES = '/api/v1/services';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'certificate-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
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
    const wrapper = await startHttpsWrapper({}, { logger });
    const { port, proxy } = wrapper;
    const write = ({ cert, key }: KeyPair): void => {
      writeFileSync(join(wrapper.folder, 'tls.crt'), cert);
      writeFileSync(join(wrapper.folder, 'tls.key'), key);
    };
    const problem = () =>
      readiness(proxy).find(({ name }) => name === 'https-certificate')?.problem;
    try {
      expect(await shown(port)).toBe('CN=wrapper');
      expect(problem()).toBeUndefined();
      const [one, other] = [
        await issue(CLIENT_AUTHORITY, 'one'),
        await issue(CLIENT_AUTHORITY, 'x'),
      ];
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
    } finally {
      await wrapper.close();
    }
  });

  test('of client authorities are followed: clients of the old authority are refused', async () => {
    const wrapper = await startHttpsWrapper();
    const cert = await issueClient('a', []);
    try {
      expect((await wrapper.ask(SERVICES, { cert })).code).toBe(200);
      const other = await makeAuthority();
      writeFileSync(join(wrapper.folder, 'client-ca.crt'), other.cert);
      await eventually(async () => (await wrapper.ask(SERVICES, { cert })).code, 401);
      const theirs = await issueClient('a', [], { authority: other });
      expect((await wrapper.ask(SERVICES, { cert: theirs })).code).toBe(200);
    } finally {
      await wrapper.close();
    }
  });

  test('of client authorities: a client on an old connection must connect again, and is verified again', async () => {
    const wrapper = await startHttpsWrapper();
    const { port, ca } = wrapper;
    const cert = await issueClient('a', []);
    try {
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
      writeFileSync(join(wrapper.folder, 'client-ca.crt'), (await makeAuthority()).cert);
      await eventually(async () => (await wrapper.ask(SERVICES, { cert })).code, 401);
      const closed = once(theirs, 'close');
      expect(await codeOn(theirs)).toBe('401');
      await closed;
      expect(await codeOn(unused)).toBe('401');
      expect(await codeOn(await open({ socket: slow, ...cert }))).toBe('401');
      expect(await codeOn(bearer, token)).toBe('200');
      bearer.destroy();
    } finally {
      await wrapper.close();
    }
  });

  test('of client authorities: an old TLS session is refused', async () => {
    const wrapper = await startHttpsWrapper();
    const { port } = wrapper;
    const cert = await issueClient('a', []);
    try {
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
    } finally {
      await wrapper.close();
    }
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
    const start = startHttpsWrapper({
      certificate: { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') },
      clientCaFile: join(folder, 'client-ca.crt'),
    });
    await expect(start).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringMatching(/^https: /),
    });
  });
});

describe('a certificate created at the start', () => {
  const names = ['localhost', '127.0.0.1', '::1', 'wrapper.example'];
  const { logger } = captureLogger();

  test('is trusted by clients that have the CA file; its key is not written', async () => {
    const caFile = join(folder, 'ca.crt');
    const wrapper = await startHttpsWrapper({ certificate: { selfSigned: { caFile, names } } });
    try {
      const ca = readFileSync(caFile, 'utf8');
      expect((await ask(wrapper.port, ca, SERVICES, { token: 'a' })).code).toBe(200);
      expect(statSync(caFile).mode & 0o777).toBe(0o644);
      expect(readdirSync(folder)).toEqual(['ca.crt']);
      expect(ca).not.toMatch(/PRIVATE/);
      expect(new X509Certificate(ca).ca).toBe(true);
    } finally {
      await wrapper.close();
    }
  });

  test('is valid for the configured names, and only for a server', async () => {
    const pair = await makeSelfSigned({ caFile: join(folder, 'ca.crt'), names }, logger);
    const leaf = new X509Certificate(pair.cert);
    expect(leaf.ca).toBe(false);
    expect(leaf.checkHost('wrapper.example')).toBeDefined();
    expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(leaf.checkIP('::1')).toBeDefined();
    expect(leaf.checkHost('other.example')).toBeUndefined();
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    // A node may boot with its clock in the past.
    expect(leaf.validFromDate.getFullYear()).toBeLessThanOrEqual(2020);
  });

  test('a few authorities of processes that may still run remain in the CA file; all others are removed', async () => {
    const caFile = join(folder, 'ca.crt');
    writeFileSync(caFile, (await makeAuthority('stranger')).cert);
    const made: string[] = [];
    for (let index = 0; index < 4; index++)
      made.push((await makeSelfSigned({ caFile, names }, logger)).ca.trim());
    const bundle = readFileSync(caFile, 'utf8').match(
      /-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g,
    );
    expect(bundle?.map((pem) => pem.replaceAll('\r\n', '\n'))).toEqual(
      made
        .slice(1)
        .reverse()
        .map((pem) => pem.replaceAll('\r\n', '\n')),
    );
  });

  // A start must not depend on writing: the disk may be full or read-only.
  test('a CA file that is up to date is not written again', async () => {
    const options = { caFile: join(folder, 'ca.crt'), keyFile: join(folder, 'own.pem'), names };
    await makeSelfSigned(options, logger);
    const { ino } = statSync(options.caFile);
    await makeSelfSigned(options, logger);
    expect(statSync(options.caFile).ino).toBe(ino);
    rmSync(options.keyFile);
    await makeSelfSigned(options, logger);
    expect(statSync(options.caFile).ino).not.toBe(ino);
  });

  test('in a key file is used again after a restart, unless the names have changed', async () => {
    const options = { caFile: join(folder, 'ca.crt'), keyFile: join(folder, 'own.pem'), names };
    const first = await makeSelfSigned(options, logger);
    expect(statSync(options.keyFile).mode & 0o777).toBe(0o600);
    expect((await makeSelfSigned(options, logger)).cert.trim()).toBe(first.cert.trim());
    const more = await makeSelfSigned({ ...options, names: [...names, 'new.example'] }, logger);
    expect(more.cert).not.toBe(first.cert);
    writeFileSync(options.keyFile, 'torn');
    expect((await makeSelfSigned(options, logger)).cert).not.toBe(more.cert);
  });

  test.each([
    ['has no key', ''],
    ['has another key', CLIENT_AUTHORITY.key],
    ['has half a key', CLIENT_AUTHORITY.key.slice(0, 80)],
  ])('kept in a file that %s is made anew', async (_what, key) => {
    const options = { caFile: join(folder, 'ca.crt'), keyFile: join(folder, 'own.pem'), names };
    const first = await makeSelfSigned(options, logger);
    writeFileSync(options.keyFile, `${first.cert}\n${key}\n${first.ca}\n`);
    const pair = await makeSelfSigned(options, logger);
    expect(new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))).toBe(true);
    expect((await makeSelfSigned(options, logger)).cert.trim()).toBe(pair.cert.trim());
  });

  test('in a key file that others can read: a warning is logged, and the mode is corrected', async () => {
    const { logger, lines } = recordingLogger();
    const options = { caFile: join(folder, 'ca.crt'), keyFile: join(folder, 'own.pem'), names };
    const first = await makeSelfSigned(options, logger);
    await makeSelfSigned(options, logger);
    expect(lines).toEqual([]);
    chmodSync(options.keyFile, 0o644);
    expect((await makeSelfSigned(options, logger)).cert.trim()).toBe(first.cert.trim());
    expect(lines).toMatchObject([{ level: 40, keyFile: options.keyFile, mode: '644' }]);
    expect(statSync(options.keyFile).mode & 0o777).toBe(0o600);
  });

  test('that cannot be written is an error with the name of the file', async () => {
    const caFile = join(folder, 'none', 'ca.crt');
    await expect(makeSelfSigned({ caFile, names }, logger)).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringContaining(caFile),
    });
  });
});
