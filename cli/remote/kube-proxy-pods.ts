import { RECONNECT_MS } from '../../src/admin/status/reconnect.ts';
import { problem, type StatusLine, unknown } from '../../src/admin/status/status-line.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { listPods, podsByNode, unlessRefused } from './list-pods.ts';
import { timeOf } from './time-of.ts';

/** Where kubeadm and manifests/second-kube-proxy run kube-proxy, and the labels of its Pods. */
const NAMESPACE = 'kube-system';
const SELECTOR = 'k8s-app in (kube-proxy,kube-proxy-via-wrapper)';
/** ConfigMaps with a kubeconfig that leads to the wrapper: that of plain http, and `…-https`. */
const CONFIG_MAP = 'kube-proxy-via-wrapper';

/**
 * When the newest Pod of a kube-proxy that is pointed at the wrapper was made, in milliseconds since the epoch, by
 * node.
 */
export type PointedNodes = ReadonlyMap<string, number>;

/**
 * The nodes whose kube-proxy is pointed at the wrapper as docs/deployment.md says: without a wrapper they get no rules.
 * Empty without the right to list Pods there.
 *
 * @param node only this node; undefined: all
 */
export async function nodesPointedAtWrapper(
  client: KubeClient,
  node: string | undefined,
): Promise<PointedNodes> {
  const search = { namespace: NAMESPACE, selector: SELECTOR, node };
  const pods = await listPods(client, search).catch(unlessRefused([]));
  const pointed = pods.filter(({ spec }) =>
    spec?.volumes?.some(({ projected }) =>
      projected?.sources?.some(({ configMap }) => configMap?.name?.startsWith(CONFIG_MAP)),
    ),
  );
  return new Map(
    Array.from(podsByNode(pointed), ([name, all]) => [
      name,
      Math.max(...all.map(({ metadata }) => timeOf(metadata?.creationTimestamp))),
    ]),
  );
}

/**
 * A kube-proxy that is pointed at the wrapper, and has not used it.
 *
 * @param since when its Pod was made, or the wrapper was started, in ms
 */
export function pointedLine(since: number): StatusLine {
  const text = 'kube-proxy is pointed at this wrapper, and has not connected';
  return Date.now() - since < RECONNECT_MS
    ? unknown('kube-proxy', `${text} yet`)
    : problem('kube-proxy', text, 'see the log of kube-proxy on this node');
}
