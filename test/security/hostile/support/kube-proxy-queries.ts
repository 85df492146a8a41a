import { setTimeout as sleep } from 'node:timers/promises';
import { type SendOptions, send } from './http.ts';

/** How the client-go of a kube-proxy reads. */
export type KubeProxyVersion = '1.36' | '1.33';

const NAME = 'labelSelector=%21service.kubernetes.io%2Fservice-proxy-name';
const HEADLESS = '%21service.kubernetes.io%2Fheadless';
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** Collections that a kube-proxy of this version reads at its start. */
export function kubeProxyQueries(version: KubeProxyVersion, nodeName: string): string[] {
  const node = `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}`;
  const cidrs = '/apis/networking.k8s.io/v1/servicecidrs?';
  return version === '1.36'
    ? [
        node,
        cidrs,
        `/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone&${NAME}`,
        `${SLICES}?labelSelector=${HEADLESS}`,
      ]
    : [
        node,
        cidrs,
        `/api/v1/services?labelSelector=${HEADLESS}%2C%21service.kubernetes.io%2Fservice-proxy-name`,
        `${SLICES}?labelSelector=${HEADLESS}%2C%21service.kubernetes.io%2Fservice-proxy-name`,
      ];
}

/** What a kube-proxy saw at its start. */
export interface KubeProxyStart {
  /** Statuses of its queries, in order. */
  readonly statuses: readonly number[];
  /** Milliseconds until the last query was complete. */
  readonly ms: number;
}

/**
 * Reads once what a kube-proxy reads at its start, all queries side by side: 1.36 by streaming list, until the
 * bookmark that ends the initial events; 1.33 by LIST. A query that is not complete has status 0.
 */
export async function startLikeKubeProxy(
  url: string,
  nodeName: string,
  version: KubeProxyVersion,
  options: Pick<SendOptions, 'ca' | 'token' | 'timeoutMs'> = {},
): Promise<KubeProxyStart> {
  const streaming =
    '&watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  const how: SendOptions =
    version === '1.36' ? { until: 'k8s.io/initial-events-end' } : { keepBytes: 0 };
  const query = version === '1.36' ? streaming : '&limit=500&resourceVersion=0';
  const start = performance.now();
  const answers = await Promise.all(
    kubeProxyQueries(version, nodeName).map(
      async (path) =>
        await send(`${url}${path}${query}`, {
          headers: { accept: PROTOBUF },
          ...how,
          ...options,
        }),
    ),
  );
  return {
    statuses: answers.map(({ status, error }) => (error === '' ? status : 0)),
    ms: Math.round(performance.now() - start),
  };
}

/** Milliseconds between two starts: client-go waits for 0.8 to 1.6 s after its first failure. */
const RETRY_MS = 800;

/**
 * Starts again and again until all queries are complete. Resolves with the milliseconds until then, or undefined if
 * that took longer than `withinMs`.
 */
export async function persistLikeKubeProxy(
  url: string,
  nodeName: string,
  withinMs: number,
): Promise<number | undefined> {
  const start = performance.now();
  while (performance.now() - start < withinMs) {
    const { statuses } = await startLikeKubeProxy(url, nodeName, '1.36', { timeoutMs: 2_000 });
    if (statuses.every((status) => status === 200)) return Math.round(performance.now() - start);
    await sleep(RETRY_MS);
  }
  return undefined;
}
