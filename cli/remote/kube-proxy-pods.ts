import type { V1Pod } from '@kubernetes/client-node';
import { RECONNECT_MS } from '../../src/admin/status/reconnect.ts';
import {
  problemLine,
  type StatusLine,
  unknownLine,
  warningLine,
} from '../../src/admin/status/status-line.ts';
import { formatAge, plural } from '../../src/text/numbers.ts';
import { greatest } from '../../src/util/extremes.ts';
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

/** What the Pods of kube-proxies show. */
export interface KubeProxyPods {
  /** The nodes whose kube-proxy is pointed at the wrapper as docs/deployment.md says: without one they get no rules. */
  readonly pointed: PointedNodes;
  /** By node, the kube-proxies that ended within the last hour and run again. */
  readonly ended: ReadonlyMap<string, readonly StatusLine[]>;
}

/** How long the end of a kube-proxy is shown, in milliseconds. */
const ENDED_MS = 3_600_000;
/** What kube-proxy logs before it ends by itself (pkg/proxy/node.go). */
const OWN_END =
  /"(NodeIPs changed for the node|PodCIDRs changed for the node|Node is being deleted)"/;

/**
 * Reads the Pods of kube-proxies. Nothing is known without the right to list Pods there.
 *
 * @param node only this node; undefined: all
 */
export async function readKubeProxyPods(
  client: KubeClient,
  node: string | undefined,
): Promise<KubeProxyPods> {
  const search = { namespace: NAMESPACE, selector: SELECTOR, node };
  const pods = await listPods(client, search).catch(unlessRefused([]));
  const pointed = pods.filter(({ spec }) =>
    spec?.volumes?.some(({ projected }) =>
      projected?.sources?.some(({ configMap }) => configMap?.name?.startsWith(CONFIG_MAP)),
    ),
  );
  return {
    pointed: new Map(
      Array.from(podsByNode(pointed), ([name, all]) => [
        name,
        greatest(all.map(({ metadata }) => timeOf(metadata?.creationTimestamp))),
      ]),
    ),
    ended: new Map(Array.from(podsByNode(pods), ([name, all]) => [name, all.flatMap(endedLines)])),
  };
}

/** How a kube-proxy ended, in the words of its kubelet, and its own if the kubelet has its log. */
function endedLines({ metadata, status }: V1Pod): StatusLine[] {
  const { containerStatuses = [] } = status ?? {};
  return containerStatuses.flatMap(({ name, lastState, restartCount }) => {
    const end = lastState?.terminated;
    if (name !== 'kube-proxy' || end === undefined || end.exitCode === 0) return [];
    const ms = Date.now() - timeOf(end.finishedAt);
    if (ms > ENDED_MS) return [];
    const said = OWN_END.exec(end.message ?? '')?.[1];
    const code = `${end.exitCode}, ${end.reason ?? 'Error'}`;
    const text = `kube-proxy ended (${code}), and was started again${said ? `: ${said}` : ''}`;
    const ago = `${formatAge(Math.max(0, ms) / 1000)} ago`;
    const detail = `${metadata?.name}, ${ago}, ${plural(restartCount, 'restart')}`;
    return [warningLine('kube-proxy', text, 'see kubectl logs --previous of its Pod', detail)];
  });
}

/**
 * A kube-proxy that is pointed at the wrapper, and has not used it.
 *
 * @param since when its Pod was made, or the wrapper was started, in ms
 */
export function pointedLine(since: number): StatusLine {
  const text = 'kube-proxy is pointed at this wrapper, and has not connected';
  return Date.now() - since < RECONNECT_MS
    ? unknownLine('kube-proxy', `${text} yet`)
    : problemLine('kube-proxy', text, 'see the log of kube-proxy on this node');
}
