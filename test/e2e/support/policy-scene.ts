import { createNamespace, createNode } from './cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { createPlacedService, setEndpointReady } from './placed-service.ts';
import { type ServedNode, startFleet } from './served-node.ts';

/** Where the endpoints of each Service are, from near to far, as `here` sees it; see {@link PLACE_LABELS}. */
export const PLACES = ['here', 'near', 'mid', 'far'] as const;
export type Place = (typeof PLACES)[number];

const ADDRESS: Readonly<Record<Place, string>> = {
  here: '10.244.1.1:80',
  near: '10.244.1.2:80',
  mid: '10.244.1.3:80',
  far: '10.244.1.4:80',
};

const EDGE = { 'node-role.kubernetes.io/edge': '' };
const ZONE = 'topology.kubernetes.io/zone';

/** `near` is with `here` in everything; `mid` is in its region only; `far` in nothing, and in the cloud. */
const PLACE_LABELS = {
  here: {
    ...EDGE,
    [ZONE]: 'z1',
    'topology.kubernetes.io/region': 'r1',
    'apps.openyurt.io/nodepool': 'hangzhou',
    'apps.kubeedge.io/belonging-to': 'group1',
    // SuperEdge: a NodeUnit's label, and a grid key with the name of a NodeUnit.
    nodeunit1: 'nodeunits.superedge.io',
    zone1: 'nodeunit1',
  },
  get near() {
    return this.here;
  },
  mid: {
    ...EDGE,
    [ZONE]: 'z2',
    'topology.kubernetes.io/region': 'r1',
    'apps.openyurt.io/nodepool': 'beijing',
    'apps.kubeedge.io/belonging-to': 'group2',
    nodeunit2: 'nodeunits.superedge.io',
    zone1: 'nodeunit2',
  },
  far: { [ZONE]: 'z3', 'topology.kubernetes.io/region': 'r2' },
};

/** A Service with an endpoint on each place. */
export interface SceneService {
  readonly name: string;
  readonly target: string;
  setReady(place: Place, ready: boolean): Promise<void>;
}

export interface SceneServiceOptions {
  readonly name: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A node's settings; its labels are those of `here`. */
export interface SceneNode {
  readonly nodeName: string;
  readonly mode: 'iptables' | 'nftables';
  readonly settings: Readonly<Record<string, unknown>>;
}

export type PolicyScene = Awaited<ReturnType<typeof startPolicyScene>>;

/** Starts these nodes with wrappers, one of them `here`, which has an endpoint of each Service; others are places only. */
export async function startPolicyScene(nodes: readonly SceneNode[]) {
  const plane = await startControlPlane({ controllers: false });
  const { admin } = plane;
  try {
    for (const name of ['near', 'mid', 'far'] as const) {
      await createNode(admin, name, PLACE_LABELS[name]);
    }
    const labels = PLACE_LABELS.here;
    const fleet = await startFleet(nodes.map((node) => ({ ...node, plane, labels })));
    return {
      plane,
      fleet,
      here: fleet.of('here'),
      serve: async (options: SceneServiceOptions) => await serve(plane, options),
      stop: async () => {
        await fleet.stop();
        await plane.stop();
      },
    };
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

async function serve(plane: ControlPlane, options: SceneServiceOptions): Promise<SceneService> {
  const { name, namespace = 'default' } = options;
  const endpoints = PLACES.map((place) => ({
    at: ADDRESS[place],
    node: place,
    zone: PLACE_LABELS[place][ZONE],
  }));
  const { target } = await createPlacedService(plane.admin, { ...options, namespace }, endpoints);
  return {
    name,
    target,
    setReady: async (place, ready) =>
      await setEndpointReady(plane.admin, name, PLACES.indexOf(place), ready, namespace),
  };
}

/** Waits until the node's kernel has just the endpoints on these places, of each of the Services. */
export async function follow(
  node: ServedNode,
  expected: readonly (readonly [SceneService, readonly Place[]])[],
  timeoutMs?: number,
): Promise<number> {
  return await node.sees(wantedOf(expected), timeoutMs);
}

/** Expects the node's kernel to keep to that. */
export async function keep(
  node: ServedNode,
  expected: readonly (readonly [SceneService, readonly Place[]])[],
  forMs?: number,
): Promise<void> {
  await node.keeps(wantedOf(expected), forMs);
}

function wantedOf(expected: readonly (readonly [SceneService, readonly Place[]])[]) {
  return Object.fromEntries(
    expected.map(([{ target }, places]) => [target, places.map((place) => ADDRESS[place])]),
  );
}

/** Makes a Namespace whose Services follow these topology keys. */
export async function createPolicyNamespace(
  plane: ControlPlane,
  name: string,
  topologyKeys: string,
): Promise<void> {
  await createNamespace(plane.admin, name);
  await annotateNamespace(plane, name, topologyKeys);
}

/** Sets the topology keys of a Namespace; null removes them. */
export async function annotateNamespace(
  plane: ControlPlane,
  name: string,
  topologyKeys: string | null,
): Promise<void> {
  const metadata = { annotations: { topologyKeys } };
  await plane.admin.patch(`/api/v1/namespaces/${name}`, { metadata });
}
