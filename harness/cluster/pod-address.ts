import { createCriClient } from '../../src/node/local-runtime/cri-client.ts';
import type { ClusterNode } from './node.ts';

/** The address that a Pod has now, from the container runtime; undefined: it does not run. */
export async function podAddress(node: ClusterNode, pod: string): Promise<string | undefined> {
  const runtime = createCriClient(node.hostPath(node.criSocket));
  try {
    const all = await runtime.sandboxes();
    const ready = all.find((each) => each.name === pod && each.ready);
    return ready && (await runtime.network(ready.id))?.addresses[0];
  } finally {
    runtime.close();
  }
}
