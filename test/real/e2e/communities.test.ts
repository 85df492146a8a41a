import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createNode, labelNode } from '../../../harness/api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { putObject } from '../../../harness/api-server/put-object.ts';
import { createFabEdgeCommunities } from '../../../harness/deploy/fabedge.ts';
import { createPlacedService, setEndpointReady } from '../../../harness/node/placed-service.ts';
import { type Fleet, type ServedNode, startFleet } from '../../../harness/node/served-node.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

const EDGE = { 'node-role.kubernetes.io/edge': '' };
const COMMUNITIES = '/apis/fabedge.io/v1alpha1/communities';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const [E1, E2, E4] = ['10.244.1.1:80', '10.244.1.2:80', '10.244.1.4:80'];
const CLOUD = '10.244.1.9:80';

let plane: ControlPlane;
let fleet: Fleet;
/** Hides Services whose traffic all goes to the cloud. */
let edge1: ServedNode;
/** Shows their endpoints. */
let edge2: ServedNode;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
  const { admin } = plane;
  const node = (nodeName: string, mode: 'iptables' | 'nftables', cloud: string) => ({
    plane,
    nodeName,
    mode,
    // With nftables kube-proxy drops what goes to an address of a ServiceCIDR and of no Service it knows, from the
    // first full sync after it heard of the ServiceCIDR on: a label of topology brings one about.
    labels: { ...EDGE, 'topology.kubernetes.io/zone': 'z1' },
    settings: {
      defaultTopologyKeys: 'fab-proxy-community',
      communities: { fabedgeCluster: 'fab' },
      cloud: { mode: cloud },
    },
  });
  await createNode(admin, 'edge4', EDGE);
  await createNode(admin, 'cloud1');
  fleet = stoppedLater(
    await startFleet([
      node('edge1', 'nftables', 'passthrough'),
      node('edge2', 'iptables', 'endpoints'),
    ]),
  );
  [edge1, edge2] = [fleet.of('edge1'), fleet.of('edge2')];
  await fleet.each(async ({ netns }) => await netns.addEndpoints([E1, E2, E4, CLOUD]));
});

const whoAnswers = async ({ netns }: ServedNode, target: string) =>
  Object.keys(await netns.dial(target)).sort();

/** Says which nodes are in FabEdge's community north. */
async function declare(members: readonly string[]): Promise<void> {
  const object = { apiVersion: 'fabedge.io/v1alpha1', kind: 'Community', spec: { members } };
  await plane.admin.delete(`${COMMUNITIES}/north`);
  await putObject(plane.admin, COMMUNITIES, { ...object, metadata: { name: 'north' } });
}

test('communities come and go with the CRD and its objects, beside those of labels', async () => {
  const { admin } = plane;
  const { target } = await createPlacedService(admin, { name: 'web' }, [
    { at: E2, node: 'edge2' },
    { at: E4, node: 'edge4' },
  ]);
  const edge1Sees = async (backends: string[]) => await edge1.sees({ [target]: backends });
  const label = async (value: string | null) => {
    const labels = { 'community.kube-proxy-wrapper.io/south': value };
    for (const node of ['edge1', 'edge4']) await labelNode(admin, node, labels);
  };
  // An absent CRD is no error: each node has a community of its own.
  await edge1Sees([]);
  await edge2.sees({ [target]: [E2] });
  await createFabEdgeCommunities(admin);
  await declare(['fab.edge1', 'fab.edge2', 'other.edge4']);
  await edge1Sees([E2]);
  expect(await whoAnswers(edge1, target)).toEqual([E2]);
  await label('true');
  await edge1Sees([E2, E4]);
  await declare(['fab.edge2']);
  await edge1Sees([E4]);
  await declare(['fab.edge1', 'fab.edge2']);
  await edge1Sees([E2, E4]);
  await admin.delete(`${CRDS}/communities.fabedge.io`);
  await edge1Sees([E4]);
  await label(null);
  await edge1Sees([]);
  for (const { netns, wrapper } of fleet.all) {
    expect(await netns.httpGet(`${wrapper().adminUrl}/readyz`)).toMatchObject({ status: 200 });
  }
});

describe('a Service with ready endpoints in the cloud only', () => {
  let target: string;
  const ready = async (value: boolean) => await setEndpointReady(plane.admin, 'cloudy', 1, value);

  beforeAll(async () => {
    ({ target } = await createPlacedService(plane.admin, { name: 'cloudy' }, [
      { at: CLOUD, node: 'cloud1' },
      { at: E1, node: 'edge1', ready: false },
    ]));
    // Replaces the router that sends a ClusterIP without a virtual server to the cloud.
    await fleet.each(async ({ netns }) => await netns.addEndpoints([target]));
  });

  test('has no rule on a node with passthrough until a nearer endpoint is ready, and its endpoints on another', async () => {
    await edge2.sees({ [target]: [CLOUD] });
    for (let round = 0; round < 2; round++) {
      await edge1.sees({ [target]: undefined });
      expect(await whoAnswers(edge1, target)).toEqual([target]);
      await ready(true);
      await edge1.sees({ [target]: [E1] });
      expect(await whoAnswers(edge1, target)).toEqual([E1]);
      await ready(false);
    }
    await edge1.sees({ [target]: undefined });
    expect(await whoAnswers(edge2, target)).toEqual([CLOUD]);
  });

  test('stays hidden over a restart of the wrapper', async () => {
    await edge1.restartWrapper();
    const options = { name: 'after' };
    const { target: later } = await createPlacedService(plane.admin, options, [
      { at: E1, node: 'edge1' },
    ]);
    // After refused connections client-go waits for up to 30 s.
    await edge1.sees({ [later]: [E1], [target]: undefined }, 90_000);
    await ready(true);
    await edge1.sees({ [target]: [E1] });
  });
});
