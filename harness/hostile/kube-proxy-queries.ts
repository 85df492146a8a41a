import { currentKubeProxyQueries } from '../../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../../src/client/api/query.ts';
import { STREAMING_LIST } from '../streaming-list.ts';
import { send } from './http.ts';

/** What a kube-proxy saw at its start. */
export interface KubeProxyStart {
  /** Statuses of its queries, in order; 0: not complete. */
  readonly statuses: readonly number[];
  /** Milliseconds until the last query was complete. */
  readonly ms: number;
}

/** Reads once what a kube-proxy reads at its start, all queries side by side, by streaming list. */
export async function startLikeKubeProxy(
  url: string,
  nodeName: string,
  timeoutMs?: number,
): Promise<KubeProxyStart> {
  const start = performance.now();
  const answers = await Promise.all(
    currentKubeProxyQueries(nodeName).map(async (query) => {
      const parameters = new URLSearchParams({ ...STREAMING_LIST, watch: 'true' });
      return await send(url + queryPath(query, parameters), {
        headers: { accept: 'application/vnd.kubernetes.protobuf' },
        until: 'k8s.io/initial-events-end',
        timeoutMs,
      });
    }),
  );
  return {
    statuses: answers.map(({ status, error }) => (error === '' ? status : 0)),
    ms: Math.round(performance.now() - start),
  };
}
