import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { issue, type KeyPair, makeAuthority } from '../../../harness/certificates.ts';
import { loadCredentials } from '../../../src/client/credentials/credentials.ts';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import {
  idleLater,
  PROTOCOLS,
  type Protocol,
  startServer,
  type TestServer,
} from '../../support/http/http-server.ts';
import { writeKubeconfig } from '../../support/http/kubeconfig.ts';
import { openWatch, readText, upstreamTo } from '../../support/http/upstream.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { useFolder } from '../../support/use-folder.ts';

let authority: KeyPair;
let serving: KeyPair;
let alice: KeyPair;
let bob: KeyPair;
let upstream: Upstream;
let server: TestServer;
let credentials: ReturnType<typeof upstreamTo>['credentials'];
let protocol: Protocol;

beforeAll(async () => {
  authority = await makeAuthority();
  serving = await issue(authority, 'kubernetes');
  alice = await issue(authority, 'alice');
  bob = await issue(authority, 'bob');
});

const whoAmI: RequestListener = (request, response) => {
  const name = (request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? 'nobody';
  response.write(String(name));
  if (request.url !== '/watch') response.end();
};

async function setUp(tls: Parameters<typeof upstreamTo>[1]): Promise<void> {
  const { cert: ca } = authority;
  const serverTls = { ...serving, ca, requestCert: true, rejectUnauthorized: false };
  server = idleLater(await startServer(whoAmI, serverTls, protocol));
  ({ upstream, credentials } = upstreamTo(server.url, tls));
}

async function ask(authorization?: string): Promise<string> {
  const other = authorization === undefined ? {} : { authorization };
  const { body } = await upstream.request({ method: 'GET', path: '/', ...other });
  return readText(body);
}

describe.each(PROTOCOLS)('TLS with %s', (each) => {
  beforeAll(() => {
    protocol = each;
  });

  test('checks the server against the name of tls-server-name', async () => {
    await setUp({ ca: authority.cert, servername: 'kubernetes' });
    expect(await ask()).toBe('nobody');
    credentials.setTls({ ca: authority.cert, servername: 'elsewhere' });
    await expect(ask()).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
    });
  });

  // A gateway before several clusters chooses by it, and Credentials has the key with the value undefined.
  test('says the name of the server, of itself and as tls-server-name', async () => {
    await setUp({ rejectUnauthorized: false });
    credentials.servers = [new URL(server.url.href.replace('127.0.0.1', 'localhost'))];
    const names: (string | false)[] = [];
    server.server.on('secureConnection', (socket: TLSSocket) => {
      names.push((socket as TLSSocket & { servername: string | false }).servername);
    });
    for (const servername of [undefined, 'kubernetes']) {
      credentials.setTls({ rejectUnauthorized: false, servername });
      await ask();
    }
    expect(names).toEqual(['localhost', 'kubernetes']);
  });

  // kubeadm with an external authority, RKE2: "unable to get issuer certificate" (kubernetes-client/javascript#327).
  test.each(['API server', 'relay'])(
    'trusts an intermediate authority of the %s by itself',
    async (kind) => {
      const intermediate = await makeAuthority('intermediate', await makeAuthority('root'));
      const serverTls = await issue(intermediate, 'kubernetes');
      server = idleLater(await startServer(whoAmI, serverTls, protocol));
      const folder = useFolder();
      const caFile = join(folder, 'ca.crt');
      writeFileSync(caFile, intermediate.cert);
      const cluster = { server: server.url.href, 'certificate-authority': caFile };
      const kubeconfig = writeKubeconfig(folder, cluster, { token: 'abc' });
      const { logger } = recordingLogger();
      const ofCluster = closedLater(await loadCredentials({ kubeconfig, logger }));
      const relays = { servers: [server.url], caFile };
      ({ upstream } =
        kind === 'relay'
          ? upstreamTo(new URL('https://127.0.0.1:1'), {}, { relays })
          : upstreamTo(server.url, {}, { credentials: ofCluster }));
      expect(await ask()).toBe('nobody');
    },
  );

  test('refuses a server of another authority, unless verification is off', async () => {
    await setUp({ ca: (await makeAuthority('other')).cert });
    await expect(ask()).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringMatching(/SELF_SIGNED_CERT_IN_CHAIN: .* another authority$/),
    });
    // kubectl takes the operating system's here (rancher/rancher#23380).
    credentials.setTls({});
    await expect(ask()).rejects.toMatchObject({
      message: expect.stringMatching(
        /another authority; the kubeconfig has no certificate-authority: add it/,
      ),
    });
    credentials.setTls({ rejectUnauthorized: false });
    expect(await ask()).toBe('nobody');
  });

  test('never shows our client certificate for a request under another identity', async () => {
    // An API server takes the certificate for the identity even if there is a token: ours would be lent.
    await setUp({ ca: authority.cert, ...alice });
    expect(await ask()).toBe('alice');
    expect(await ask('Bearer caller')).toBe('nobody');
  });

  test('a changed client certificate is used by the next request, while a stream goes on and its connection ends with it', async () => {
    await setUp({ ca: authority.cert, ...alice });
    const controller = new AbortController();
    const { signal } = controller;
    const watch = await openWatch(upstream.request({ method: 'GET', path: '/watch', signal }));
    await eventually(() => watch.chunks, ['alice']);
    credentials.setTls({ ca: authority.cert, ...bob });
    expect(await ask()).toBe('bob');
    expect(server.connections.size).toBe(2);
    const [old] = server.connections;
    controller.abort(new Error('enough'));
    expect(await watch.end).toBe('enough');
    await eventually(() => old?.destroyed === true, true);
  });

  test('a changed client certificate and a changed authority are used for requests under another identity too', async () => {
    await setUp({ ca: authority.cert, ...alice });
    expect(await ask('Bearer caller')).toBe('nobody');
    credentials.setTls({ ca: (await makeAuthority('other')).cert, ...bob });
    await expect(ask('Bearer caller')).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('SELF_SIGNED_CERT_IN_CHAIN'),
    });
  });

  test('a changed client certificate immediately closes idle connections of the old one', async () => {
    await setUp({ ca: authority.cert, ...alice });
    for (const authorization of [undefined, 'Bearer caller']) await ask(authorization);
    credentials.setTls({ ca: authority.cert, ...bob });
    await server.idle();
  });

  test('a changed client certificate does not keep close from ending streams on connections of the old one', async () => {
    // An agent that is closed may forget what it has open, so that a later destroy() no longer reaches it.
    await setUp({ ca: authority.cert, ...alice });
    const { body } = await upstream.request({ method: 'GET', path: '/watch' });
    const reading = expect(readText(body)).rejects.toMatchObject({ code: 'Unreachable' });
    credentials.setTls({ ca: authority.cert, ...bob });
    await upstream.close();
    await reading;
    await server.idle();
  });
});
