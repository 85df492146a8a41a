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
  const folder = node.hostPath('/var/lib/kube-proxy-wrapper/state');
  const last = [new URL(EVERYWHERE).hostname, SECOND_NETWORK.after];
  await poll(
    () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1')),
    (snapshots) => last.every((text) => snapshots.some((each) => each.includes(text))),
    { timeoutMs: 60_000, intervalMs: 200, what: `${last.join()} in snapshots of ${node.name}` },
  );
}
