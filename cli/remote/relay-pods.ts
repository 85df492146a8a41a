import type { V1Pod } from '@kubernetes/client-node';
import { type StatusLine, warningLine } from '../../src/admin/status/status-line.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { NodeReport } from './cluster-report.ts';
import { listPods, podsByNode } from './list-pods.ts';
import { type PodTrouble, troubleOf } from './pod-trouble.ts';

const SELECTOR = 'app.kubernetes.io/name=kube-proxy-wrapper-relay';

const NOT_READY = warningLine(
  'relay',
  'the relay on this node is not ready',
  'see the log of its Pod, and docs/operations-node.md',
);
const UNUSED = warningLine(
  'relay',
  'no node reads from the relay on this node',
  'see the log of the wrapper on this node, and docs/operations-node.md',
);

/**
 * What is wrong with relays, by their node.
 *
 * A site may have more relays than its nodes read from. The wrapper beside a relay is of its site: if it reads from any
 * relay, those of the site are used. If it has not answered, it is not known.
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
  const idle = new Set(reports.filter(hasNoRelay).map((report) => report.node));
  const lines = new Map<string, StatusLine[]>();
  for (const [name, ofNode] of pods) {
    const troubles = ofNode.flatMap((pod) => troubleOf(pod) ?? []).map(troubleLine);
    const ready = ofNode.filter(isReady);
    const isUsed = ready.some((pod) => addressesOf(pod).some((address) => used.has(address)));
    if (troubles.length > 0) lines.set(name, troubles);
    else if (ready.length === 0) lines.set(name, [NOT_READY]);
    else if (isKnown && !isUsed && idle.has(name)) lines.set(name, [UNUSED]);
  }
  return lines;
}

/** Whether the wrapper has answered that it reads from no relay. */
function hasNoRelay({ version, relay }: NodeReport): boolean {
  return version !== undefined && relay === undefined;
}

/** A Pod that does not start holds up the update of all relays, though the one before it serves. */
function troubleLine({ pod, reason, message, age, next }: PodTrouble): StatusLine {
  const what =
    reason === undefined
      ? `${message}, and runs again`
      : `does not run: ${[reason, message].filter(Boolean).join(': ')}`;
  const detail = age === undefined ? pod : `${pod}, ${age}`;
  return warningLine('relay', `a Pod of the relay on this node ${what}`, next, detail);
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
