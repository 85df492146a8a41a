import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  createNode,
  createPod,
  createService,
  deleteSlice,
  labelNode,
  setPodReady,
} from './support/cluster-objects.ts';
import { type Communities, communitySettings, createCommunities } from './support/communities.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { dial } from './support/dial.ts';
import { createPlacedService, putSlice, setEndpointReady } from './support/placed-service.ts';
import { expectReady, type Fleet, startFleet } from './support/served-node.ts';

jest.setTimeout(180_000);

const EDGE = { 'node-role.kubernetes.io/edge': '' };
const NORTH = 'community.kube-proxy-wrapper.io/north';
const [E1, E2, E3, E4] = ['10.244.1.1:80', '10.244.1.2:80', '10.244.1.3:80', '10.244.1.4:80'];
const CLOUD = '10.244.1.9:80';

let plane: ControlPlane;
let fleet: Fleet;
let web: string;

beforeAll(async () => {
  plane = await startControlPlane();
  const { admin } = plane;
  const node = (nodeName: string, mode: 'iptables' | 'nftables', cloud: string, labels = {}) => ({
    plane,
    nodeName,
    mode,
    labels,
    settings: {
      defaultTopologyKeys: 'fab-proxy-community',
      communities: communitySettings,
      cloud: { mode: cloud },
    },
  });
  await createNode(admin, 'edge4', EDGE);
  // No node has a wrapper yet, and nothing a community.
  fleet = await startFleet([
    node('edge1', 'nftables', 'passthrough', EDGE),
    node('edge2', 'iptables', 'passthrough', EDGE),
    node('edge3', 'nftables', 'endpoints', EDGE),
    node('cloud1', 'iptables', 'passthrough'),
  ]);
  await fleet.each(async ({ netns }) => await netns.addEndpoints([E1, E2, E3, E4, CLOUD]));
  const labels = { app: 'web' };
  await createPod(admin, { name: 'web-2', labels, nodeName: 'edge2', ip: '10.244.1.2' });
  await createPod(admin, { name: 'web-3', labels, nodeName: 'edge3', ip: '10.244.1.3' });
  const ports = [{ port: 80 }];
  const service = await createService(admin, { name: 'web', selector: labels, ports });
  web = `${service.spec.clusterIP}:80`;
});

afterAll(async () => {
  await fleet?.stop();
  await plane?.stop();
});

/** Expects the kernel's tables of these nodes to come to these backends of a Service. */
async function follow(
  target: string,
  tables: Readonly<Record<string, readonly string[] | undefined>>,
): Promise<void> {
  for (const [name, backends] of Object.entries(tables)) {
    await fleet.of(name).sees({ [target]: backends }, 12_000);
  }
}

async function whoAnswers(name: string, target: string): Promise<string[]> {
  return Object.keys(await dial(fleet.of(name).netns, target, 20)).sort();
}

test('without communities each node sees its own pods only, and an absent CRD is no error', async () => {
  await follow(web, { edge1: [], edge2: [E2], edge3: [E3], cloud1: [E2, E3] });
  await fleet.each(expectReady);
});

describe('communities by a label on edge1 and the CRD for the others', () => {
  let communities: Communities;

  // {edge1, edge2} and {edge2, edge3}
  beforeAll(async () => {
    communities = await createCommunities(plane.admin);
    for (const node of ['edge1', 'edge2']) await communities.join(node, 'north');
    for (const node of ['edge2', 'edge3']) await communities.join(node, 'south');
    await follow(web, { edge1: [E2], edge2: [E2], edge3: [E3], cloud1: [E2, E3] });
  });

  test('a node joins and leaves a community', async () => {
    await communities.join('edge1', 'south');
    await follow(web, { edge1: [E2, E3], edge2: [E2], edge3: [E3] });
    await communities.leave('edge1', 'north');
    await fleet.of('edge1').keeps({ [web]: [E2, E3] });
    await communities.leave('edge1', 'south');
    await follow(web, { edge1: [] });
    await communities.join('edge1', 'north');
    await follow(web, { edge1: [E2] });
  });

  test('connections go where the tables say', async () => {
    expect(await whoAnswers('edge1', web)).toEqual([E2]);
    expect(await whoAnswers('edge2', web)).toEqual([E2]);
    expect(await whoAnswers('edge3', web)).toEqual([E3]);
    expect(await whoAnswers('cloud1', web)).toEqual([E2, E3]);
  });

  test('when a pod goes unready its node turns to a community, and who saw only it to nobody', async () => {
    await setPodReady(plane.admin, 'web-2', false);
    await follow(web, { edge1: [], edge2: [E3], edge3: [E3] });
    expect(await whoAnswers('edge1', web)).toEqual(['refused']);
    await setPodReady(plane.admin, 'web-2', true);
    await follow(web, { edge1: [E2], edge2: [E2] });
    await setPodReady(plane.admin, 'web-3', false);
    await follow(web, { edge1: [E2], edge2: [E2], edge3: [E2] });
    await setPodReady(plane.admin, 'web-3', true);
    await follow(web, { edge3: [E3] });
  });

  test('a node that leaves the community takes its pods along; one that leaves the cluster is still declared', async () => {
    const { admin } = plane;
    await putSlice(admin, { name: 'web-4', service: 'web' }, [{ at: E4, node: 'edge4' }]);
    await follow(web, { edge1: [E2], cloud1: [E2, E3, E4] });
    await communities.join('edge4', 'north');
    await follow(web, { edge1: [E2, E4], edge2: [E2], edge3: [E3] });
    await communities.leave('edge4', 'north');
    await follow(web, { edge1: [E2] });
    await communities.join('edge4', 'north');
    await admin.delete('/api/v1/nodes/edge4');
    await follow(web, { edge1: [E2, E4] });
    await deleteSlice(admin, 'web-4');
    await follow(web, { edge1: [E2], cloud1: [E2, E3] });
    await createNode(admin, 'edge4', EDGE);
    await communities.leave('edge4', 'north');
  });

  test('a community that is dissolved has no node', async () => {
    await communities.dissolve('south');
    await communities.leave('edge2', 'north');
    await follow(web, { edge1: [], edge2: [E2], edge3: [E3] });
    await communities.join('edge2', 'north');
    await follow(web, { edge1: [E2] });
  });

  test('a deleted CRD removes its communities, and is not an error', async () => {
    await communities.removeCrd();
    await follow(web, { edge1: [] });
    await communities.leave('edge1', 'north');
    await fleet.each(expectReady);
  });
});

describe('a Service with ready endpoints in the cloud only', () => {
  let target: string;
  const ready = async (value: boolean) => await setEndpointReady(plane.admin, 'cloudy', 1, value);

  beforeAll(async () => {
    const { admin } = plane;
    for (const name of ['edge1', 'edge2']) {
      // With nftables kube-proxy drops what goes to an address of a ServiceCIDR and of no Service it knows,
      // from the first full sync after it heard of the ServiceCIDR on: a new zone brings one about.
      const zone = { 'topology.kubernetes.io/zone': 'z1' };
      await labelNode(admin, name, { ...zone, [NORTH]: 'true' });
    }
    ({ target } = await createPlacedService(admin, { name: 'cloudy' }, [
      { at: CLOUD, node: 'cloud1' },
      { at: E1, node: 'edge1', ready: false },
    ]));
    // Replaces the router that sends a ClusterIP without a virtual server to the cloud.
    await fleet.each(async ({ netns }) => await netns.addEndpoints([target]));
  });

  const AT_EDGE1 = [{ at: E1, node: 'edge1' }];
  const HIDDEN = { edge1: undefined, edge2: undefined, edge3: [CLOUD], cloud1: [CLOUD] };

  test('has no rule on nodes with passthrough, and its endpoints on those without', async () => {
    await follow(target, { edge3: [CLOUD], cloud1: [CLOUD] });
    // One that was made later is there.
    const { target: later } = await createPlacedService(plane.admin, { name: 'later' }, AT_EDGE1);
    await follow(later, { edge1: [E1], edge2: [E1] });
    for (const name of ['edge1', 'edge2']) await fleet.of(name).keeps({ [target]: undefined });
    expect(await whoAnswers('edge3', target)).toEqual([CLOUD]);
  });

  test.each(['edge1', 'edge2'])('has its address routed to the cloud from %s', async (name) => {
    await follow(target, HIDDEN);
    expect(await whoAnswers(name, target)).toEqual([target]);
  });

  test('is back as soon as a nearer endpoint is ready, and gone again with it', async () => {
    for (let round = 0; round < 2; round++) {
      await ready(true);
      await follow(target, { edge1: [E1], edge2: [E1], edge3: [CLOUD], cloud1: [E1, CLOUD] });
      for (const name of ['edge1', 'edge2']) expect(await whoAnswers(name, target)).toEqual([E1]);
      await ready(false);
      await follow(target, HIDDEN);
    }
  });

  test('is back when a community brings a nearer endpoint, and gone when that is dissolved', async () => {
    await ready(true);
    await follow(target, { edge2: [E1] });
    await labelNode(plane.admin, 'edge2', { [NORTH]: null });
    await follow(target, { edge1: [E1], edge2: undefined });
    await labelNode(plane.admin, 'edge2', { [NORTH]: 'true' });
    await follow(target, { edge2: [E1] });
    await ready(false);
    await follow(target, HIDDEN);
  });

  test('stays hidden over a restart of the wrapper', async () => {
    const edge1 = fleet.of('edge1');
    await edge1.stopWrapper('SIGTERM');
    await edge1.startWrapper();
    const path = '/api/v1/namespaces/default/services/cloudy';
    expect(await edge1.netns.httpGet(`${edge1.wrapper().url}${path}`)).toMatchObject({
      status: 404,
    });
    const { target: later } = await createPlacedService(plane.admin, { name: 'after' }, AT_EDGE1);
    // After refused connections client-go waits for up to 30 s.
    await edge1.sees({ [later]: [E1], [target]: undefined }, 45_000);
    await edge1.keeps({ [target]: undefined });
    await ready(true);
    await edge1.sees({ [target]: [E1] });
  });

  test('is shown on a node that stops being an edge node', async () => {
    await ready(false);
    await follow(target, HIDDEN);
    await labelNode(plane.admin, 'edge2', { 'node-role.kubernetes.io/edge': null });
    await follow(target, { edge2: [CLOUD] });
    await labelNode(plane.admin, 'edge2', EDGE);
    await follow(target, HIDDEN);
  });
});
