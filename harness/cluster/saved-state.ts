import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { poll } from '../poll.ts';
import type { Cluster } from './cluster.ts';
import type { ClusterNode } from './node.ts';
import { annotateSecondNetwork, EVERYWHERE } from './other-services.ts';

/**
 * Waits until the wrapper of a node has saved all Services and slices so far: a power cut may lose the last seconds.
 * It annotates a slice, so that a snapshot of slices with the annotation has all earlier changes too.
 */
export async function untilSaved(cluster: Cluster, node: ClusterNode): Promise<void> {
  const mark = `saved-at-${Date.now()}`;
  await annotateSecondNetwork(cluster, mark);
  await untilInSnapshots(node, [new URL(EVERYWHERE).hostname, mark]);
}

/** Waits until the snapshots of a node have these texts, such as an address or the name of an object. */
export async function untilInSnapshots(node: ClusterNode, texts: readonly string[]): Promise<void> {
  const folder = node.hostPath('/var/lib/kube-proxy-wrapper/state');
  await poll(
    () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1')),
    (snapshots) => texts.every((text) => snapshots.some((each) => each.includes(text))),
    { timeoutMs: 180_000, intervalMs: 200, what: `${texts.join()} in snapshots of ${node.name}` },
  );
}
