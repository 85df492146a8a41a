import type { V1Pod } from '@kubernetes/client-node';
import { type StatusLine, warning } from '../../src/admin/status/status-line.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { NodeReport } from './cluster-report.ts';
import { listPods, podsByNode } from './list-pods.ts';

const SELECTOR = 'app.kubernetes.io/name=kube-proxy-wrapper-relay';

const NOT_READY = warning(
  'relay',
  'the relay on this node is not ready',
  'see the log of its Pod, and docs/operations-node.md',
);
const UNUSED = warning(
  'relay',
  'no node reads from the relay on this node',
  'see the log of a wrapper of its site, and docs/operations-node.md',
);

/**
 * What is wrong with relays, by their node.
 *
 * @param reports of all nodes; of some: it cannot be known which relay none of them uses
 */
export async function relayLines(
  client: KubeClient,
  namespace: string,
  reports: readonly NodeReport[],
  node: string | undefined,
): Promise<ReadonlyMap<string, readonly StatusLine[]>> {
  const pods = podsByNode(await listPods(client, { namespace, selector: SELECTOR, node }));
  const used = new Set(reports.flatMap(({ relay }) => (relay === undefined ? [] : hostOf(relay))));
  const known = new Set([...pods.values()].flat().flatMap(addressesOf));
  // Behind the ClusterIP of their Service it is not known which one is used.
  const isKnown = node === undefined && used.isSubsetOf(known);
  const lines = new Map<string, StatusLine[]>();
  for (const [name, ofNode] of pods) {
    const ready = ofNode.filter(isReady);
    const isUsed = ready.some((pod) => addressesOf(pod).some((address) => used.has(address)));
    if (ready.length === 0) lines.set(name, [NOT_READY]);
    else if (isKnown && !isUsed) lines.set(name, [UNUSED]);
  }
  return lines;
}

function isReady({ status }: V1Pod): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
  );
}

function addressesOf({ status }: V1Pod): string[] {
  return (status?.podIPs ?? []).flatMap(({ ip }) => ip ?? []);
}

/** The address in `host:port`. */
function hostOf(relay: string): string {
  return relay.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}
