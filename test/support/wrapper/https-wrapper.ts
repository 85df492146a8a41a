import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { writeServingFiles } from '../../../harness/certificates.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import type { HttpsListenerOptions } from '../../../src/server/serving/listeners.ts';
import { closedLater } from '../closed-later.ts';
import { FakeCredentials } from '../http/credentials.ts';
import { ask, type RequestOptions } from '../http/http-client.ts';
import { type ReviewServer, startReviewServer } from '../http/review-server.ts';
import { useFolder } from '../use-folder.ts';
import { putService, putSlice } from './small-cluster.ts';
import { useCluster, useWrapper } from './use.ts';

export interface Asked {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
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
  /** Sends a request over https, on a new connection. It trusts the wrapper's authority by default. */
  ask(path: string, options?: RequestOptions): Promise<Asked>;
}

/** It is closed later; see {@link closedLater}. */
export async function useHttps(
  https: Partial<HttpsListenerOptions> = {},
  options: Partial<NodeProxyOptions> = {},
): Promise<HttpsWrapper> {
  const folder = useFolder();
  const { api } = await useReviewedCluster();
  const { certFile, keyFile, caFile } = await writeServingFiles(folder);
  const ca = readFileSync(caFile, 'utf8');
  const proxy = await useWrapper(api.url, {
    credentials: new FakeCredentials(new URL(api.url)),
    https: {
      address: { host: '127.0.0.1', port: 0 },
      certFile,
      keyFile,
      allowedMs: 30_000,
      deniedMs: 5_000,
      maxCallers: 16,
      maxReviews: 4,
      ...https,
    },
    ...options,
  });
  const port = Number(new URL(proxy.httpsUrl ?? '').port);
  return { proxy, api, folder, ca, port, ask: askAt(port, ca) };
}

/** An API server that reviews callers. A token is the name of its user, or `<user>/<any text>`. */
export async function useReviewedCluster() {
  const authenticate = (token = ''): string => token.split('/')[0] ?? '';
  const cluster = useCluster({ tls: undefined, authenticate });
  putService(cluster, 'web', ['kubernetes.io/hostname']);
  putSlice(cluster, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
  ]);
  const api = closedLater(await startReviewServer(await cluster.listen(), 'Bearer own-token'));
  return { cluster, api };
}

/** Sends requests over https to a port of this machine. */
export function askAt(port: number, ca: string): HttpsWrapper['ask'] {
  return async (path, options = {}) => {
    const url = `https://127.0.0.1:${port}`;
    const { response, body } = await ask(url, { ca, path, ...options });
    return { code: response.statusCode ?? 0, headers: response.headers, body };
  };
}
