import { execSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { issue, type KeyPair, makeAuthority } from '../../../harness/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { useFolder } from '../../support/use-folder.ts';
import { useHttps } from '../../support/wrapper/https-wrapper.ts';
import { problemOf } from '../../support/wrapper/state-fixture.ts';

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

const other = await issue(await makeAuthority(), 'other');

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
    const problem = () => problemOf(proxy, 'https-certificate');
    expect(await shown(port)).toBe('CN=wrapper');
    expect(problem()).toBeUndefined();
    const authority = await makeAuthority();
    const one = await issue(authority, 'one');
    write({ cert: one.cert, key: other.key });
    await eventually(() => problem() !== undefined, true);
    expect(problem()).toMatch(
      /the old ones are kept: https: the key in .*tls\.key is not of the certificate in .*tls\.crt: put both of one pair there/,
    );
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

  test.each([
    ['tls.key', 'is of another certificate', () => other.key],
    ['tls.crt', 'is missing', () => undefined],
    ['tls.key', 'is empty', () => ''],
    ['tls.crt', 'ends halfway', torn],
  ])('%s that %s: it does not start, and says why', async (name, _what, content) => {
    const pair = await issue(await makeAuthority(), 'a');
    const files = { 'tls.crt': pair.cert, 'tls.key': pair.key };
    for (const [each, whole] of Object.entries(files)) {
      const text = each === name ? content(whole) : whole;
      if (text !== undefined) writeFileSync(join(folder, each), text);
    }
    const started = useHttps({
      certFile: join(folder, 'tls.crt'),
      keyFile: join(folder, 'tls.key'),
    });
    await expect(started).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringMatching(`^https: .*${folder}/${name}`),
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
