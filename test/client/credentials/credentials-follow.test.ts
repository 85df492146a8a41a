import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { issue, type KeyPair, makeAuthority } from '../../../harness/certificates.ts';
import {
  type Credentials,
  type CredentialsOptions,
  loadCredentials,
} from '../../../src/client/credentials/credentials.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { writeKubeconfig } from '../../support/http/kubeconfig.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';
import { useFolder } from '../../support/use-folder.ts';

const SERVER = 'https://10.0.0.1:6443';
const POLL_MS = 5;

let authority: KeyPair;
let other: KeyPair;
let folder: string;
let lines: readonly LogLine[];

beforeAll(async () => {
  authority = await makeAuthority();
  other = await makeAuthority('another authority');
});

beforeEach(() => {
  folder = useFolder();
});

/** Files are not read again by themselves unless a test sets intervals. */
async function load(options: Omit<CredentialsOptions, 'logger'>): Promise<Credentials> {
  const recorded = recordingLogger();
  lines = recorded.lines;
  const quiet = { pollMs: 3_600_000, tokenMaxAgeMs: 3_600_000 };
  return closedLater(await loadCredentials({ ...quiet, ...options, logger: recorded.logger }));
}

function inFolder(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** State of a process, a letter; undefined: there is none. */
function stateOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2];
  } catch {
    return undefined;
  }
}

async function authorization(credentials: Credentials): Promise<string | undefined> {
  return (await credentials.headers()).authorization?.toString();
}

describe('a token file', () => {
  let kubeconfig: string;

  beforeEach(() => {
    inFolder('token', 'first');
    kubeconfig = writeKubeconfig(folder, { server: SERVER }, { tokenFile: 'token' });
  });

  test('that was rotated is read again once the token exceeds its maximum age', async () => {
    const credentials = await load({ kubeconfig, tokenMaxAgeMs: 0 });
    expect(await authorization(credentials)).toBe('Bearer first');
    inFolder('token', 'second\n');
    expect(await authorization(credentials)).toBe('Bearer second');
  });

  test('is read again by refresh, however young the token is', async () => {
    const credentials = await load({ kubeconfig });
    inFolder('token', 'second');
    expect(await authorization(credentials)).toBe('Bearer first');
    await credentials.refresh();
    expect(await authorization(credentials)).toBe('Bearer second');
  });

  test('that is empty, missing or holds more leaves the old token in use, and is logged once without it', async () => {
    const credentials = await load({ kubeconfig, tokenMaxAgeMs: 0 });
    inFolder('token', '');
    expect(await authorization(credentials)).toBe('Bearer first');
    expect(await authorization(credentials)).toBe('Bearer first');
    expect(lines).toHaveLength(1);
    rmSync(join(folder, 'token'));
    expect(await authorization(credentials)).toBe('Bearer first');
    expect(lines).toHaveLength(2);
    inFolder('token', 'second\nthird');
    expect(await authorization(credentials)).toBe('Bearer first');
    expect(lines).toHaveLength(3);
    expect(JSON.stringify(lines)).not.toMatch(/first|second/);
    inFolder('token', 'third');
    expect(await authorization(credentials)).toBe('Bearer third');
  });

  test('may change its name with the kubeconfig, and a new one that cannot be read changes nothing', async () => {
    const credentials = await load({ kubeconfig });
    let changes = 0;
    credentials.onTlsChange(() => changes++);
    writeKubeconfig(folder, { server: 'https://10.0.0.2' }, { tokenFile: 'missing' });
    await credentials.refresh();
    expect(await authorization(credentials)).toBe('Bearer first');
    expect(credentials.servers.map(String)).toEqual([`${SERVER}/`]);
    expect(changes).toBe(0);
    inFolder('missing', 'elsewhere');
    await credentials.refresh();
    expect(await authorization(credentials)).toBe('Bearer elsewhere');
    expect(credentials.servers.map(String)).toEqual(['https://10.0.0.2/']);
    expect(changes).toBe(1);
  });
});

describe('certificates', () => {
  /** Kubelet's layout: ca.crt -> ..data/ca.crt, ..data -> ..<time>, and only `..data` is ever replaced. */
  function project(version: string, ca: string): void {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'ca.crt'), ca);
    symlinkSync(version, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  }

  async function loadProjected(): Promise<Credentials> {
    project('..1', authority.cert);
    symlinkSync('..data/ca.crt', join(folder, 'ca.crt'));
    const cluster = { server: SERVER, 'certificate-authority': 'ca.crt' };
    return load({ kubeconfig: writeKubeconfig(folder, cluster, {}), pollMs: POLL_MS });
  }

  test('in a projected volume are read again when the symlink to its folder is swapped', async () => {
    const credentials = await loadProjected();
    let changes = 0;
    credentials.onTlsChange(() => changes++);
    project('..2', other.cert);
    await eventually(() => changes > 0, true);
    expect(String(credentials.tls().ca)).toBe(other.cert);
    expect(changes).toBe(1);
  });

  test('with a new time and the same content are not a change', async () => {
    const credentials = await loadProjected();
    let changes = 0;
    credentials.onTlsChange(() => changes++);
    project('..2', authority.cert);
    await credentials.refresh();
    expect(changes).toBe(0);
  });

  test.each([
    ['empty', () => ''],
    ['half-written', () => authority.cert + other.cert.slice(0, other.cert.length / 2)],
    ['not PEM', () => 'garbage'],
  ])('in a file that is %s leave the old ones in use; that is logged once', async (_, text) => {
    inFolder('ca.crt', authority.cert);
    const cluster = { server: SERVER, 'certificate-authority': 'ca.crt' };
    const credentials = await load({ kubeconfig: writeKubeconfig(folder, cluster, {}) });
    inFolder('ca.crt', text());
    await credentials.refresh();
    await credentials.refresh();
    expect(String(credentials.tls().ca)).toBe(authority.cert);
    expect(lines).toHaveLength(1);
    inFolder('ca.crt', other.cert);
    await credentials.refresh();
    expect(String(credentials.tls().ca)).toBe(other.cert);
  });

  test('are not followed after close', async () => {
    const credentials = await loadProjected();
    credentials.close();
    project('..2', other.cert);
    await new Promise((resolve) => setTimeout(resolve, 4 * POLL_MS));
    expect(String(credentials.tls().ca)).toBe(authority.cert);
  });

  test('of a client are replaced together with the key or not at all', async () => {
    const [before, after] = [await issue(authority, 'a'), await issue(authority, 'b')];
    inFolder('tls.crt', before.cert);
    inFolder('tls.key', before.key);
    const user = { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' };
    const kubeconfig = writeKubeconfig(folder, { server: SERVER }, user);
    const credentials = await load({ kubeconfig });
    inFolder('tls.crt', after.cert);
    await credentials.refresh();
    expect(String(credentials.tls().cert)).toBe(before.cert);
    inFolder('tls.key', after.key);
    await credentials.refresh();
    expect(String(credentials.tls().cert)).toBe(after.cert);
    expect(String(credentials.tls().key)).toBe(after.key);
  });
});

describe('a credential plugin', () => {
  function withPlugin(script: string): string {
    const exec = { command: '/bin/sh', args: [inFolder('plugin.sh', script)] };
    return writeKubeconfig(folder, { server: SERVER }, { exec });
  }

  test('runs again when its answer has expired', async () => {
    const expired = '"expirationTimestamp":"2020-01-01T00:00:00Z"';
    const script = `echo x >> ${folder}/runs; n=$(wc -l < ${folder}/runs)
echo '{"status":{${expired},"token":"run-'$n'"}}'`;
    const credentials = await load({ kubeconfig: withPlugin(script), tokenMaxAgeMs: 0 });
    const first = await authorization(credentials);
    expect(await authorization(credentials)).not.toBe(first);
  });

  test('whose answer has not expired runs again only by refresh', async () => {
    const script = `echo x >> ${folder}/runs; n=$(wc -l < ${folder}/runs)
echo '{"status":{"token":"run-'$n'"}}'`;
    const credentials = await load({ kubeconfig: withPlugin(script), tokenMaxAgeMs: 0 });
    expect(await authorization(credentials)).toBe('Bearer run-1');
    expect(await authorization(credentials)).toBe('Bearer run-1');
    await credentials.refresh();
    expect(await authorization(credentials)).toBe('Bearer run-2');
  });

  test('that never ends is killed with all its children, and the old token stays in use', async () => {
    const expired = '"expirationTimestamp":"2020-01-01T00:00:00Z"';
    const kubeconfig = withPlugin(`echo '{"status":{${expired},"token":"good"}}'`);
    // The good run must end within it, on a busy machine too, and the other one must have started its child.
    const credentials = await load({ kubeconfig, tokenMaxAgeMs: 0, pluginMs: 2_000 });
    inFolder('plugin.sh', `sleep 3600 & echo $! > ${folder}/child; wait`);
    expect(await authorization(credentials)).toBe('Bearer good');
    expect(JSON.stringify(lines)).toContain('its credential plugin failed (ETIMEDOUT)');
    const child = readFileSync(join(folder, 'child'), 'utf8').trim();
    await eventually(() => stateOf(child) !== 'S', true);
  });

  // The last one has left the process group, so only its pipe can be closed.
  test.each([
    ['prints without end', 'exec yes'],
    ['prints errors without end', 'exec yes >&2'],
    ['leaves a process that prints without end', 'setsid yes'],
  ])('that %s is killed, and the old token stays in use', async (_name, script) => {
    const expired = '"expirationTimestamp":"2020-01-01T00:00:00Z"';
    const kubeconfig = withPlugin(`echo '{"status":{${expired},"token":"good"}}'`);
    const credentials = await load({ kubeconfig, tokenMaxAgeMs: 0, pluginMs: 30_000 });
    inFolder('plugin.sh', script);
    expect(await authorization(credentials)).toBe('Bearer good');
    expect(JSON.stringify(lines)).toContain('its credential plugin failed (EMSGSIZE)');
  });

  // A person signs in meanwhile.
  test('of a command has no time limit, but one of its output', async () => {
    const quick = withPlugin(`sleep 0.2; echo '{"status":{"token":"slow"}}'`);
    const credentials = await load({ kubeconfig: quick, attended: true, pluginMs: 1 });
    expect(await authorization(credentials)).toBe('Bearer slow');
    const endless = load({ kubeconfig: withPlugin('yes; exec sleep 300'), attended: true });
    await expect(endless).rejects.toThrow('its credential plugin failed (EMSGSIZE)');
  });

  test('that reads its input gets an end of file', async () => {
    const script = `read -r line; echo '{"status":{"token":"nobody-is-there'$line'"}}'`;
    const credentials = await load({ kubeconfig: withPlugin(script) });
    expect(await authorization(credentials)).toBe('Bearer nobody-is-there');
  });
});
