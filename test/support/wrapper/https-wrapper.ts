import { readFileSync } from 'node:fs';
import { writeServingFiles } from '../../../harness/certificates.ts';
import type { NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import type { HttpsListenerOptions } from '../../../src/server/serving/listeners.ts';
import { closedLater } from '../closed-later.ts';
import { FakeCredentials } from '../http/credentials.ts';
import { ask, type RequestOptions } from '../http/http-client.ts';
import { startReviewServer } from '../http/review-server.ts';
import { useFolder } from '../use-folder.ts';
import { putService, putSlice } from './small-cluster.ts';
import { useCluster, useWrapper } from './use.ts';

/** A wrapper with an https listener, in front of an API server that answers access reviews. */
export type HttpsWrapper = Awaited<ReturnType<typeof useHttps>>;

/** It is closed later; see {@link closedLater}. */
export async function useHttps(
  https: Partial<HttpsListenerOptions> = {},
  options: Partial<NodeProxyOptions> = {},
) {
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
  return {
    proxy,
    api,
    folder,
    /** The authority of its certificate, as PEM. */
    ca,
    /** Port of the https listener. */
    port,
    ask: askAt(port, ca),
  };
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

/** Sends requests over https to a port of this machine, each on a new connection. @param ca trusted by default */
export function askAt(port: number, ca: string) {
  return async (path: string, options: RequestOptions = {}) => {
    const url = `https://127.0.0.1:${port}`;
    const { response, body } = await ask(url, { ca, path, ...options });
    const { statusCode: code = 0, headers } = response;
    return { code, headers, body };
  };
}
