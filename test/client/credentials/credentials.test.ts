import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { issue, type KeyPair, makeAuthority } from '../../../harness/certificates.ts';
import {
  type Credentials,
  type CredentialsOptions,
  loadCredentials,
} from '../../../src/client/credentials/credentials.ts';
import { closedLater } from '../../support/closed-later.ts';
import { base64, writeKubeconfig } from '../../support/http/kubeconfig.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { useFolder } from '../../support/use-folder.ts';

const SERVER = 'https://10.0.0.1:6443';
const TRUST = { allowPartialTrustChain: true };

let authority: KeyPair;
let client: KeyPair;
let folder: string;

beforeAll(async () => {
  authority = await makeAuthority();
  client = await issue(authority, 'client');
});

beforeEach(() => {
  folder = useFolder();
});

async function load(options: Omit<CredentialsOptions, 'logger'>): Promise<Credentials> {
  return closedLater(await loadCredentials({ logger: recordingLogger().logger, ...options }));
}

function inFolder(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('what a kubeconfig says', () => {
  test('a token is sent trimmed, over TLS that is checked', async () => {
    const kubeconfig = writeKubeconfig(folder, { server: SERVER }, { token: 'abc\n' });
    const credentials = await load({ kubeconfig });
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer abc' });
    expect(credentials.servers.map(String)).toEqual([`${SERVER}/`]);
    expect(credentials.tls()).toEqual({ rejectUnauthorized: true, ...TRUST });
  });

  test('the key tokenFile is known, is meant from the folder of the kubeconfig, and goes before a token', async () => {
    inFolder('token', ' from-file\n');
    const user = { tokenFile: 'token', token: 'inline' };
    const kubeconfig = writeKubeconfig(folder, { server: SERVER }, user);
    expect(await (await load({ kubeconfig })).headers()).toEqual({
      authorization: 'Bearer from-file',
    });
  });

  test('user name and password are sent as basic authentication, impersonation as asked for', async () => {
    const user = { username: 'ann', password: 'pw', as: 'bob' };
    const kubeconfig = writeKubeconfig(folder, { server: SERVER }, user);
    expect(await (await load({ kubeconfig })).headers()).toEqual({
      authorization: `Basic ${base64('ann:pw')}`,
      'impersonate-user': 'bob',
    });
  });

  test('certificates come from files, inline data goes before a file', async () => {
    inFolder('ca.crt', authority.cert);
    inFolder('client.key', client.key);
    const kubeconfig = writeKubeconfig(
      folder,
      { server: SERVER, 'certificate-authority': 'ca.crt', 'tls-server-name': 'kubernetes' },
      {
        'client-certificate': 'missing.crt',
        'client-certificate-data': base64(client.cert),
        'client-key': 'client.key',
      },
    );
    const { ca, cert, key, ...rest } = (await load({ kubeconfig })).tls();
    expect([ca, cert, key].map(String)).toEqual([authority.cert, client.cert, client.key]);
    expect(rest).toEqual({ rejectUnauthorized: true, servername: 'kubernetes', ...TRUST });
  });

  test('insecure-skip-tls-verify turns the check of the server off', async () => {
    const cluster = { server: SERVER, 'insecure-skip-tls-verify': true };
    const kubeconfig = writeKubeconfig(folder, cluster, { token: 'abc' });
    expect((await load({ kubeconfig })).tls()).toEqual({ rejectUnauthorized: false, ...TRUST });
  });

  test.each(['/', '//', '/k8s//clusters/c', '/k8s/clusters/c/'])(
    'the path %s of the server is a prefix without empty parts',
    async (path) => {
      const kubeconfig = writeKubeconfig(folder, { server: SERVER + path }, { token: 'abc' });
      const [server] = (await load({ kubeconfig })).servers;
      expect(server?.pathname).toBe(path.replaceAll('//', '/'));
    },
  );

  test('over plain http no credentials are sent, as client-go does, and that is said', async () => {
    const { logger, lines } = recordingLogger();
    const kubeconfig = writeKubeconfig(folder, { server: 'http://127.0.0.1:1' }, { token: 'abc' });
    const credentials = closedLater(await loadCredentials({ kubeconfig, logger }));
    expect(await credentials.headers()).toEqual({});
    expect(credentials.tls()).toEqual({});
    expect(lines[0]?.msg).toContain('none are sent to http://127.0.0.1:1');
  });

  test('a credential plugin supplies the token; a command with a slash is meant from the folder of the kubeconfig', async () => {
    const script = `#!/bin/sh\necho "{\\"status\\":{\\"token\\":\\"$MORE\${EMPTY+-}\${#KUBERNETES_EXEC_INFO}\\"}}"\n`;
    chmodSync(inFolder('plugin.sh', script), 0o755);
    const exec = {
      command: './plugin.sh',
      apiVersion: 'client.authentication.k8s.io/v1',
      env: [{ name: 'MORE', value: 'from-plugin' }, { name: 'EMPTY' }],
    };
    const cluster = { server: SERVER, extensions: [{ name: 'other' }] };
    const kubeconfig = writeKubeconfig(folder, cluster, { exec });
    const info = `{"kind":"ExecCredential","apiVersion":"${exec.apiVersion}","spec":{"interactive":false}}`;
    expect(await (await load({ kubeconfig })).headers()).toEqual({
      authorization: `Bearer from-plugin-${info.length}`,
    });
  });

  describe('a credential plugin with provideClusterInfo is told of the cluster', () => {
    const script = `#!/bin/sh
token=$(printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d '\\n')
echo "{\\"status\\":{\\"token\\":\\"$token\\"}}"
`;
    const apiVersion = 'client.authentication.k8s.io/v1';
    const exec = { command: './plugin.sh', apiVersion, provideClusterInfo: true };

    /** `spec` of what the plugin was told. */
    async function told(cluster: Record<string, unknown>): Promise<unknown> {
      chmodSync(inFolder('plugin.sh', script), 0o755);
      const kubeconfig = writeKubeconfig(folder, { server: SERVER, ...cluster }, { exec });
      const { authorization = '' } = await (await load({ kubeconfig })).headers();
      return JSON.parse(Buffer.from(authorization.toString().slice(7), 'base64').toString()).spec;
    }

    test('as the kubeconfig has it', async () => {
      const config = { audience: 'a' };
      const cluster = {
        'certificate-authority-data': base64(authority.cert),
        'tls-server-name': 'kubernetes',
        extensions: [{ name: 'client.authentication.k8s.io/exec', extension: config }],
      };
      expect(await told(cluster)).toEqual({
        interactive: false,
        cluster: {
          server: SERVER,
          'tls-server-name': 'kubernetes',
          'certificate-authority-data': base64(authority.cert),
          config,
        },
      });
    });

    test('with the content of the file of its authority', async () => {
      inFolder('ca.crt', authority.cert);
      expect(await told({ 'certificate-authority': 'ca.crt' })).toMatchObject({
        cluster: { 'certificate-authority-data': base64(authority.cert) },
      });
    });

    test('unless the file of its authority cannot be read, which is named', async () => {
      await expect(told({ 'certificate-authority': 'none.crt' })).rejects.toMatchObject({
        code: 'Credentials',
        message: expect.stringMatching(/none\.crt it names cannot be read \(ENOENT\)/),
      });
    });
  });
});

// clientcmd's ClientConfigLoadingRules.
describe('several kubeconfigs are read as one, as kubectl does', () => {
  const context = (name: string, cluster: string, user: string) => ({
    name,
    context: { cluster, user },
  });

  function inSubfolder(name: string, config: object): string {
    mkdirSync(join(folder, name));
    return inFolder(join(name, 'config'), JSON.stringify(config));
  }

  let kubeconfig: string[];

  beforeEach(() => {
    const other = { server: 'https://10.0.0.2:6443' };
    kubeconfig = [
      join(folder, 'missing'),
      inSubfolder('contexts', { contexts: [context('main', 'edge', 'ann')] }),
      inSubfolder('clusters', {
        clusters: [{ name: 'edge', cluster: { server: SERVER, 'certificate-authority': 'ca' } }],
        contexts: [context('main', 'other', 'bob'), context('dev', 'other', 'bob')],
        'current-context': 'main',
      }),
      inSubfolder('users', {
        clusters: [
          { name: 'edge', cluster: other },
          { name: 'other', cluster: other },
        ],
        users: [
          { name: 'ann', user: { tokenFile: 'token' } },
          { name: 'bob', user: { token: 'of-bob' } },
        ],
        'current-context': 'dev',
      }),
    ];
    inFolder('clusters/ca', authority.cert);
    inFolder('users/token', 'of-ann');
  });

  // KubeConfig refused the file for an entry that nobody had chosen.
  test('a cluster without a server is no problem for another context', async () => {
    const clusters = [{ name: 'new', cluster: null }];
    // kubectl config writes null for an empty list.
    const incomplete = inSubfolder('incomplete', { clusters, contexts: null, users: null });
    const credentials = await load({ kubeconfig: [incomplete, ...kubeconfig] });
    expect(credentials.servers.map(String)).toEqual([`${SERVER}/`]);
  });

  test('an empty file defines nothing', async () => {
    const empty = ['', '# no cluster yet\n', '---\n'].map((text, i) => inFolder(`${i}`, text));
    const credentials = await load({ kubeconfig: [...empty, ...kubeconfig] });
    expect(credentials.servers.map(String)).toEqual([`${SERVER}/`]);
  });

  test('the first definition of a name counts, and paths are relative to their own file', async () => {
    const credentials = await load({ kubeconfig });
    expect(credentials.servers.map(String)).toEqual([`${SERVER}/`]);
    expect(String(credentials.tls().ca)).toBe(authority.cert);
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer of-ann' });
  });

  test('another context can be chosen', async () => {
    const credentials = await load({ kubeconfig, context: 'dev' });
    expect(credentials.servers.map(String)).toEqual(['https://10.0.0.2:6443/']);
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer of-bob' });
  });

  test('a context that none has is an error that names all files', async () => {
    await expect(load({ kubeconfig, context: 'x' })).rejects.toThrow(
      `${kubeconfig.slice(1).join(', ')} cannot be used: the context "x" is not among its contexts: main, main, dev`,
    );
  });

  test('if none exists, the last one is named', async () => {
    const missing = ['a', 'b'].map((name) => join(folder, name));
    await expect(load({ kubeconfig: missing })).rejects.toThrow(`the kubeconfig ${missing[1]} `);
  });
});

describe('in a cluster', () => {
  test('the service account is used, and an IPv6 address is put in brackets', async () => {
    inFolder('token', 'pod-token\n');
    inFolder('ca.crt', authority.cert);
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const credentials = await load({ env, serviceAccountFolder: folder });
    expect(credentials.servers.map(String)).toEqual(['https://[fd00::1]/']);
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer pod-token' });
    expect(String(credentials.tls().ca)).toBe(authority.cert);
  });

  test('without a kubeconfig and outside of a cluster the way out is named', async () => {
    await expect(load({ env: {} })).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringContaining('set a kubeconfig'),
    });
  });

  test('a service account without its token is refused', async () => {
    inFolder('ca.crt', authority.cert);
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    await expect(load({ env, serviceAccountFolder: folder })).rejects.toMatchObject({
      code: 'Credentials',
      message: `the token file ${join(folder, 'token')} cannot be read (ENOENT); check the path and its permissions`,
    });
  });
});

describe('a kubeconfig that cannot be used is refused with one line that names it', () => {
  const cluster = { server: SERVER };
  const unchecked = { server: SERVER, 'insecure-skip-tls-verify': true };
  const cases: readonly [string, Record<string, unknown> | string, string][] = [
    ['not YAML', 'token: "very-secret\n  x', 'not YAML: unexpected end of the stream'],
    ['no object', '- a', 'it is not a YAML object'],
    ['empty', '', 'it has no current-context'],
    ['a comment only', '# none', 'it has no current-context'],
    ['no current-context', { 'current-context': '' }, 'it has no current-context'],
    ['unknown context', { 'current-context': 'x' }, '"x" is not among its contexts: main'],
    ['no such cluster', { clusters: [] }, 'the cluster "edge" of its context "main" is missing'],
    ['no such user', { users: [] }, 'the user "proxy" of its context "main" is missing'],
    // Found by fuzzing: errors of the library came through as they were.
    [
      'an object for a name',
      { 'current-context': { toString: 0 } },
      'its field current-context is missing or has a value of the wrong type',
    ],
    [
      'a token that is no text',
      withUser({ token: ['very-secret'] }),
      'its field users.0.user.token is missing or has a value of the wrong type',
    ],
    ['no server', { clusters: [{ name: 'edge', cluster: {} }] }, 'not an http(s) URL'],
    [
      'no URL',
      { clusters: [{ name: 'edge', cluster: { server: 'x:y:z' } }] },
      'not an http(s) URL',
    ],
    [
      'a proxy',
      { clusters: [{ name: 'edge', cluster: { ...cluster, 'proxy-url': 'http://p' } }] },
      'proxy-url of the cluster "edge" is not supported',
    ],
    [
      'an authority that must not be checked',
      { clusters: [{ name: 'edge', cluster: { ...unchecked, 'certificate-authority': 'ca' } }] },
      'the cluster "edge" has a certificate authority and insecure-skip-tls-verify; remove one',
    ],
    [
      'the same, inline',
      {
        clusters: [{ name: 'edge', cluster: { ...unchecked, 'certificate-authority-data': 'eA' } }],
      },
      'has a certificate authority and insecure-skip-tls-verify',
    ],
    ['missing file', withUser({ 'client-certificate': '/no/such.crt' }), '/no/such.crt'],
    [
      'key missing',
      withUser({ 'client-certificate-data': base64('x') }),
      'only one of client certificate and key',
    ],
    [
      'broken certificate',
      withUser({ 'client-certificate-data': base64('x'), 'client-key-data': base64('y') }),
      'its certificates cannot be used: no certificate in PEM',
    ],
    [
      'groups of another',
      withUser({ as: 'a', 'as-groups': ['g'] }),
      'as-groups of the user "proxy"',
    ],
    [
      'extras of another',
      withUser({ as: 'a', 'as-user-extra': { a: ['b'] } }),
      'as-user-extra of the user "proxy" is not supported',
    ],
    ['missing token file', withUser({ tokenFile: '/no/token' }), 'token file /no/token'],
    [
      'bad token',
      withUser({ token: 'very\nsecret' }),
      'characters that are not allowed in a header',
    ],
    [
      'a provider that Kubernetes has removed',
      withUser({ 'auth-provider': { name: 'gcp', config: { 'access-token': 'very-secret' } } }),
      'auth-provider gcp of the user "proxy" is not supported; use exec with',
    ],
    [
      'plugin fails',
      withUser({ exec: { command: '/bin/sh', args: ['-c', 'echo very-secret; exit 1'] } }),
      'its credential plugin failed (Error)',
    ],
    [
      'plugin prints no JSON',
      withUser({ exec: { command: '/bin/sh', args: ['-c', 'echo very-secret'] } }),
      'its credential plugin failed (SyntaxError)',
    ],
  ];

  function withUser(user: Record<string, unknown>): Record<string, unknown> {
    return { users: [{ name: 'proxy', user }] };
  }

  test.each(cases)('%s', async (_name, content, problem) => {
    const config =
      typeof content === 'string'
        ? content
        : JSON.stringify({
            clusters: [{ name: 'edge', cluster }],
            users: [{ name: 'proxy', user: {} }],
            contexts: [{ name: 'main', context: { cluster: 'edge', user: 'proxy' } }],
            'current-context': 'main',
            ...content,
          });
    const kubeconfig = inFolder('bad', config);
    const error = await load({ kubeconfig }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'Credentials' });
    expect(error.message).toContain(problem);
    expect(error.message).not.toContain('\n');
    // What is logged is the error with all its causes.
    const { logger, lines } = recordingLogger();
    logger.error({ err: error });
    expect(JSON.stringify(lines)).not.toContain('very-secret');
  });
});
