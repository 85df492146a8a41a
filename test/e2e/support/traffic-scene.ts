import { expect } from '@jest/globals';
import type { KubeObject } from './api.ts';
import { createNode } from './cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { dial } from './dial.ts';
import { connectNodes } from './node-network.ts';
import { createPlacedService, type Placed } from './placed-service.ts';
import { type Fleet, type ServedNode, startFleet } from './served-node.ts';

export const ZONE = 'topology.kubernetes.io/zone';

/** Endpoints on nodes that have no wrapper: in the zone of those that have, and in another one. */
export const NEAR: Placed = { at: '10.244.1.1:80', node: 'near', zone: 'z1' };
export const MID: Placed = { at: '10.244.1.2:80', node: 'mid', zone: 'z2' };
export const FAR: Placed = { at: '10.244.1.3:80', node: 'far', zone: 'z3' };
/** The same for IPv6. */
export const NEAR6: Placed = { ...NEAR, at: '[fd00:244::1]:80' };
export const FAR6: Placed = { ...FAR, at: '[fd00:244::3]:80' };
/** An endpoint on one of the nodes that have a wrapper. */
export const FIRST: Placed = { at: '10.244.1.8:80', node: 'first', zone: 'z1' };

export type TrafficScene = Awaited<ReturnType<typeof startTrafficScene>>;

/**
 * Two nodes of one zone whose default is `same-zone-only`, so that it shows what is left alone. They reach
 * each other. The `second` filters headless Services too, and hides those that EdgeMesh serves.
 */
export async function startTrafficScene() {
  const plane = await startControlPlane({
    apiServerArgs: ['--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112'],
  });
  const stops = [async () => await plane.stop()];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    for (const [name, zone] of [
      ['near', 'z1'] as const,
      ['mid', 'z2'] as const,
      ['far', 'z3'] as const,
    ]) {
      await createNode(plane.admin, name, { [ZONE]: zone, site: 'a' });
    }
    const settings = { defaultTopologyKeys: 'same-zone-only' };
    const common = { plane, labels: { [ZONE]: 'z1', site: 'a' } };
    const fleet = await startFleet([
      { ...common, nodeName: 'first', mode: 'nftables', settings },
      {
        ...common,
        nodeName: 'second',
        mode: 'iptables',
        settings: {
          ...settings,
          headless: true,
          serviceFilter: { mode: 'FilterIfLabelDoesNotExists' },
        },
      },
    ]);
    stops.push(async () => await fleet.stop());
    const network = await connectNodes(fleet.all.map(({ netns }) => netns));
    stops.push(async () => await network.stop());
    await fleet.each(prepareNode);
    return describeScene(plane, fleet, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Answers as every endpoint, and has a way for IPv6. */
async function prepareNode({ nodeName, netns }: ServedNode): Promise<void> {
  const remote = [NEAR, MID, FAR, NEAR6, FAR6].map(({ at }) => at);
  await netns.addEndpoints(nodeName === FIRST.node ? [...remote, FIRST.at] : remote);
  await netns.exec('ip', ['addr', 'add', 'fd00:99::2/64', 'dev', 'eth0', 'nodad']);
  await netns.exec('ip', ['route', 'add', 'fd00:10:96::/112', 'dev', 'eth0']);
}

function describeScene(plane: ControlPlane, fleet: Fleet, stop: () => Promise<void>) {
  return {
    plane,
    fleet,
    first: fleet.of('first'),
    second: fleet.of('second'),
    /** Makes a Service of more fields than most. */
    serve: async (
      name: string,
      endpoints: readonly Placed[],
      spec: Record<string, unknown> = {},
      annotations: Record<string, string> = {},
    ) => await createPlacedService(plane.admin, { name, spec, annotations }, endpoints),
    /** Expects both kernels to come to these endpoints. */
    see: async (target: string, placed: readonly Placed[]) => {
      const backends = placed.map(({ at }) => at);
      await fleet.each(async (node) => await node.sees({ [target]: backends }));
    },
    /** Expects just these endpoints to answer on both nodes, each of them at least once. */
    answer: async (target: string, placed: readonly Placed[]) => {
      const wanted = placed.length === 0 ? ['refused'] : placed.map(({ at }) => at).sort();
      await fleet.each(async ({ nodeName, netns }) => {
        const answers = Object.keys(await dial(netns, target)).sort();
        expect([nodeName, answers]).toEqual([nodeName, wanted]);
      });
    },
    stop,
  };
}

/** The addresses that the wrapper shows in the slices of a Service; undefined: it shows no slice. */
export async function shownAddresses(
  node: ServedNode,
  service: string,
): Promise<string[] | undefined> {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${service}`);
  const path = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`;
  const url = `${node.wrapper().url}${path}?labelSelector=${selector}`;
  const answer = await node.netns.httpGet(url);
  expect(answer?.status).toBe(200);
  const { items } = JSON.parse(answer?.body ?? '') as { items: KubeObject[] };
  if (items.length === 0) return undefined;
  return items
    .flatMap(({ endpoints }) => (endpoints ?? []) as { addresses: string[] }[])
    .flatMap(({ addresses }) => addresses)
    .sort();
}
