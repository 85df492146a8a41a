import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { poll } from '../poll.ts';
import type { Cluster } from './cluster.ts';
import type { ClusterNode } from './node.ts';
import { changeSecondNetwork, EVERYWHERE, SECOND_NETWORK } from './other-services.ts';

/**
 * Waits until the wrapper of a node has saved all Services and slices so far: a power cut may lose the last seconds.
 * It changes a slice, so that a snapshot of slices with that change has all earlier ones too.
 */
export async function untilSaved(cluster: Cluster, node: ClusterNode): Promise<void> {
  await changeSecondNetwork(cluster);
  await untilInSnapshots(node, [new URL(EVERYWHERE).hostname, SECOND_NETWORK.after]);
}

/** Waits until the snapshots of a node have these texts, such as an address or the name of an object. */
export async function untilInSnapshots(node: ClusterNode, texts: readonly string[]): Promise<void> {
  const folder = node.hostPath('/var/lib/kube-proxy-wrapper/state');
  await poll(
    () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1')),
    (snapshots) => texts.every((text) => snapshots.some((each) => each.includes(text))),
    { timeoutMs: 60_000, intervalMs: 200, what: `${texts.join()} in snapshots of ${node.name}` },
  );
}
