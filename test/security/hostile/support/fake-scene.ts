import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ReviewServer, startReviewServer } from '../../../support/http/review-server.ts';
import {
  createSmallCluster,
  putService,
  putSlice,
} from '../../../support/wrapper/small-cluster.ts';
import { startHostWrapper } from './host-wrapper.ts';

/**
 * Whether the wrapper sent this list or watch for itself: it reads a collection of a view, and has no token, because the
 * wrapper sends none over plain http. Requests that it forwards for a caller without a token do not count.
 */
function isOwnRead({ method, url, headers }: ReviewServer['passed'][number]): boolean {
  const [path = '', query = ''] = url.split('?');
  const isView =
    /\/(services|endpoints|endpointslices|servicecidrs)$/.test(path) ||
    (path === '/api/v1/nodes' && /(field|label)Selector=/.test(query));
  return method === 'GET' && isView && query.includes('resourceVersion=') && !headers.authorization;
}

export type FakeScene = Awaited<ReturnType<typeof startFakeScene>>;

/**
 * A wrapper with plain http and https in front of an API server in memory that records what reaches it. It runs on
 * edge-1; the Service `web` shows 10.0.0.1 there and not 10.0.0.2.
 */
export async function startFakeScene() {
  const cluster = createSmallCluster({ tls: undefined });
  putService(cluster, 'web', ['kubernetes.io/hostname']);
  putSlice(cluster, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
  ]);
  const api = await startReviewServer(await cluster.listen(), 'none');
  const folder = mkdtempSync(join(tmpdir(), 'kpw-hostile-fake-'));
  const closeBehind = async (): Promise<void> => {
    await api.close();
    await cluster.close();
    rmSync(folder, { recursive: true });
  };
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, plainKubeconfig(api.url, 'own-token'));
  try {
    const wrapper = await startHostWrapper({ kubeconfig, nodeName: 'edge-1', https: true });
    const stop = async (): Promise<void> => {
      await wrapper.stop();
      await closeBehind();
    };
    const requests = () => api.passed.filter((request) => !isOwnRead(request));
    return {
      wrapper,
      stop,
      /** Method and URL of each request that reached the API server, except the lists and watches of views. */
      reached: () => requests().map(({ method, url }) => `${method} ${url}`),
      /** Names of the headers of those requests. */
      headersThatReached: () => requests().flatMap(({ headers }) => Object.keys(headers)),
      /** Forgets all requests so far. */
      forget: () => {
        api.passed.length = 0;
      },
    };
  } catch (error) {
    await closeBehind();
    throw error;
  }
}

/** A kubeconfig for plain http, which client-node takes only with `insecure-skip-tls-verify`. */
export function plainKubeconfig(server: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'fake', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'wrapper', user: { token } }],
    contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'wrapper' } }],
    'current-context': 'fake',
  });
}
