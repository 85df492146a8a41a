import { expect } from '@jest/globals';
import type { KubeProxyMode } from '../node/kube-proxy.ts';
import { waitForBackends } from '../node/wrapped-node.ts';
import { FAR, NEAR, type SiteScene } from './site-scene.ts';

/**
 * Expects the kernel, and who answers a connection, to follow the site of the node: from a to b, to none and back. The
 * Service without a policy keeps both endpoints.
 */
export async function expectToFollowSite(scene: SiteScene, mode: KubeProxyMode): Promise<void> {
  const { node, targets } = scene;
  await node.netns.addEndpoints([NEAR, FAR]);
  const sites: [site: string | null, backends: string[]][] = [
    ['a', [NEAR]],
    ['b', [FAR]],
    [null, []],
    ['a', [NEAR]],
  ];
  for (const [site, backends] of sites) {
    await scene.moveTo(site);
    await waitForBackends(node.netns, mode, {
      [targets.local]: backends,
      [targets.plain]: [NEAR, FAR],
    });
    const answers = Object.keys(await node.netns.dial(targets.local, 10)).sort();
    expect([site, answers]).toEqual([site, backends.length === 0 ? ['refused'] : backends]);
  }
}
