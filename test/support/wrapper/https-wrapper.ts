import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { generate } from 'selfsigned';
import type { NodeProxy, NodeProxyOptions } from '../../../src/proxy/node-proxy.ts';
import type { HttpsListenerOptions } from '../../../src/proxy/server/listeners.ts';
import { closedLater } from '../closed-later.ts';
import { issue, type KeyPair, makeAuthority } from '../http/certificates.ts';
import { FakeCredentials } from '../http/credentials.ts';
import { type ReviewServer, startReviewServer } from '../http/review-server.ts';
import { createSmallCluster, putService, putSlice } from './small-cluster.ts';
import { startWrapper } from './wrapper-fixture.ts';

export interface Asked {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly token?: string;
  readonly cert?: KeyPair;
  readonly body?: string;
}

/** A wrapper with an https listener, in front of an API server that answers access reviews. */
export interface HttpsWrapper {
  readonly proxy: NodeProxy;
  readonly api: ReviewServer;
  readonly folder: string;
  /** The authority of its certificate, as PEM. */
  readonly ca: string;
  /** Port of the https listener. */
  readonly port: number;
  /** Sends a request over https, on a new connection. */
  ask(path: string, options?: AskOptions): Promise<Asked>;
  close(): Promise<void>;
}

export const CLIENT_AUTHORITY = await makeAuthority('client authority');

/** A client certificate of a user and its groups. */
export async function issueClient(
  user: string,
  groups: readonly string[],
  options: {
    readonly authority?: KeyPair;
    readonly server?: boolean;
    readonly seconds?: number;
  } = {},
): Promise<KeyPair> {
  const { authority = CLIENT_AUTHORITY, server = false, seconds = 3600 } = options;
  const names = groups.map((value) => ({ name: 'organizationName', value }));
  const pems = await generate(
    [...names, ...(user === '' ? [] : [{ name: 'commonName', value: user }])],
    {
      keyType: 'ec',
      algorithm: 'sha256',
      ca: authority,
      notBeforeDate: new Date(Date.now() - 60_000),
      notAfterDate: new Date(Date.now() + seconds * 1000),
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'extKeyUsage', serverAuth: server, clientAuth: !server },
      ],
    },
  );
  return { cert: pems.cert, key: pems.private };
}

/** Starts one that is closed later; see {@link closedLater}. */
export async function useHttps(
  ...args: Parameters<typeof startHttpsWrapper>
): Promise<HttpsWrapper> {
  return closedLater(await startHttpsWrapper(...args));
}

/** A token is the name of its user, or `<user>/<any text>`. */
export async function startHttpsWrapper(
  https: Partial<HttpsListenerOptions> = {},
  options: Partial<NodeProxyOptions> = {},
): Promise<HttpsWrapper> {
  const folder = mkdtempSync(join(tmpdir(), 'https-wrapper-'));
  const authenticate = (token = ''): string => token.split('/')[0] ?? '';
  const cluster = createSmallCluster({ tls: undefined, authenticate });
  putService(cluster, 'web', ['kubernetes.io/hostname']);
  putSlice(cluster, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
  ]);
  const api = await startReviewServer(await cluster.listen(), 'Bearer own-token');
  const authority = await makeAuthority();
  const pair = await issue(authority, 'wrapper');
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const closeBehind = async (): Promise<void> => {
    await api.close();
    await cluster.close();
    rmSync(folder, { recursive: true });
  };
  const proxy = await startWrapper(api.url, {
    credentials: new FakeCredentials(new URL(api.url)),
    https: {
      address: { host: '127.0.0.1', port: 0 },
      certFile: file('tls.crt', pair.cert),
      keyFile: file('tls.key', pair.key),
      clientCaFile: file('client-ca.crt', CLIENT_AUTHORITY.cert),
      allowedMs: 30_000,
      deniedMs: 5_000,
      maxCallers: 16,
      maxReviews: 4,
      ...https,
    },
    ...options,
  }).catch(async (error: unknown) => {
    await closeBehind();
    throw error;
  });
  const port = Number(new URL(proxy.httpsUrl ?? '').port);
  return {
    proxy,
    api,
    folder,
    ca: authority.cert,
    port,
    ask: (path, how = {}) => ask(port, authority.cert, path, how),
    async close() {
      await proxy.close();
      await closeBehind();
    },
  };
}

/** Sends one request over https, with exactly this path. */
export function ask(
  port: number,
  ca: string,
  path: string,
  options: AskOptions = {},
): Promise<Asked> {
  const { method = 'GET', headers = {}, token, cert, body } = options;
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        ca,
        ...cert,
        headers: { ...authorization, ...headers },
        agent: new Agent({ keepAlive: false, maxCachedSessions: 0 }),
      },
      async (response) => {
        const { statusCode: code = 0 } = response;
        resolve({ code, headers: response.headers, body: await text(response) });
      },
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
