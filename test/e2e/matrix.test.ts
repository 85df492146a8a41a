import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createService } from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { dial } from './support/dial.ts';
import { connectNodes, type NodeNetwork } from './support/node-network.ts';
import { putSlice, setEndpointReady } from './support/placed-service.ts';
import { type Fleet, type ServedNode, startFleet } from './support/served-node.ts';
import { createTextTable } from './support/text-table.ts';

jest.setTimeout(180_000);

const EDGE = { 'node-role.kubernetes.io/edge': '' };
const NAMES = ['cloud1', 'cloud2', 'edge1', 'edge2'] as const;
type Name = (typeof NAMES)[number];
const KINDS = ['podIP', 'hostNetwork'] as const;
type Kind = (typeof KINDS)[number];
const PORT = 8080;

const POD: Readonly<Record<Name, string>> = {
  cloud1: '10.244.1.1',
  cloud2: '10.244.1.2',
  edge1: '10.244.1.3',
  edge2: '10.244.1.4',
};

const table = createTextTable();
let plane: ControlPlane;
let fleet: Fleet;
let network: NodeNetwork;

beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  const settings = { communities: { nodeLabels: ['example.com/site'] } };
  const node = (nodeName: Name, mode: 'iptables' | 'nftables', labels = {}) => ({
    plane,
    nodeName,
    mode,
    labels,
    settings,
  });
  const site = { ...EDGE, 'example.com/site': 'harbour' };
  fleet = await startFleet([
    node('cloud1', 'iptables'),
    node('cloud2', 'nftables'),
    node('edge1', 'nftables', site),
    node('edge2', 'iptables', site),
  ]);
  network = await connectNodes(NAMES.map((name) => ({ netns: netns(name), pods: [POD[name]] })));
  for (const name of NAMES) {
    await netns(name).addEndpoints([endpointOf(name, 'podIP')]);
    await netns(name).ask({ op: 'listen', endpoint: endpointOf(name, 'hostNetwork') });
  }
});

afterAll(async () => {
  await network?.stop();
  await fleet?.stop();
  await plane?.stop();
  table.print('client ↓ server → who answered');
});

const netns = (name: Name): ServedNode['netns'] => fleet.of(name).netns;

/** Where a client or server of this kind is found on a node. */
const addressOf = (name: Name, kind: Kind): string =>
  kind === 'podIP' ? POD[name] : netns(name).address;

const endpointOf = (name: Name, kind: Kind): string => `${addressOf(name, kind)}:${PORT}`;

/** Makes a NodePort Service with these endpoints, and waits until each node sees the expected ones. */
async function serve(
  name: string,
  servers: readonly (readonly [Name, Kind])[],
  topologyKeys: readonly string[],
  sees: (node: Name) => readonly string[],
): Promise<{ clusterIP: string; nodePort: number }> {
  const { spec } = await createService(plane.admin, {
    name,
    annotations: { topologyKeys: JSON.stringify(topologyKeys) },
    ports: [{ port: 80, targetPort: PORT }],
    spec: { type: 'NodePort' },
  });
  const placed = servers.map(([node, kind]) => ({ at: endpointOf(node, kind), node }));
  await putSlice(plane.admin, { name, service: name }, placed);
  const target = `${spec.clusterIP}:80`;
  for (const node of NAMES) await fleet.of(node).sees({ [target]: sees(node) });
  return { clusterIP: spec.clusterIP, nodePort: spec.ports[0].nodePort };
}

/** Connects to a Service from a client of each place and kind, in each way; expects who answers. */
async function callFromEverywhere(
  title: string,
  service: { clusterIP: string; nodePort: number },
  answers: (client: Name) => readonly string[],
): Promise<void> {
  const { clusterIP, nodePort } = service;
  const wrong: unknown[] = [];
  for (const client of NAMES) {
    for (const kind of KINDS) {
      const ways = {
        ClusterIP: `${clusterIP}:80`,
        NodePort: `${netns(client).address}:${nodePort}`,
      };
      for (const [way, target] of Object.entries(ways)) {
        const from = addressOf(client, kind);
        const counts = await dial(netns(client), target, 4 * answers(client).length, { from });
        const found = Object.keys(counts).sort();
        const ok = found.every((answer) => answers(client).includes(answer));
        if (!ok) wrong.push({ client, kind, way, found });
        const names = found.map(nameOf).join('+');
        table.set(`${client} ${kind} ${way}`, title, ok ? names : `WRONG: ${names}`);
      }
    }
  }
  expect(wrong).toEqual([]);
}

const short = (kind: Kind) => (kind === 'podIP' ? 'pod' : 'host');

function nameOf(answer: string): string {
  return NAMES.find((name) => KINDS.some((kind) => endpointOf(name, kind) === answer)) ?? answer;
}

describe.each(NAMES)('a Service with its only server on %s', (server) => {
  test.each(KINDS)('as %s answers every client, by ClusterIP and NodePort', async (kind) => {
    const only = [endpointOf(server, kind)];
    const name = `only-${server}-${kind.toLowerCase()}`;
    const service = await serve(name, [[server, kind]], ['*'], () => only);
    await callFromEverywhere(`${server} ${short(kind)}`, service, () => only);
  });

  test.each(KINDS)('as %s is reachable at the NodePort of its own node too', async (kind) => {
    const service = await plane.admin.get(
      `/api/v1/namespaces/default/services/only-${server}-${kind.toLowerCase()}`,
    );
    const target = `${netns(server).address}:${service.spec.ports[0].nodePort}`;
    for (const client of NAMES) {
      for (const from of KINDS.map((clientKind) => addressOf(client, clientKind))) {
        const counts = await dial(netns(client), target, 2, { from });
        expect([client, from, counts]).toEqual([client, from, { [endpointOf(server, kind)]: 2 }]);
      }
    }
  });
});

describe.each(KINDS)('hostname, else community, else cloud, with servers of kind %s', (kind) => {
  const keys = [
    'kubernetes.io/hostname',
    'kube-proxy-wrapper.io/community',
    'kube-proxy-wrapper.io/cloud',
  ];
  const name = `near-${kind.toLowerCase()}`;
  let service: { clusterIP: string; nodePort: number };
  const on = (server: Name) => [endpointOf(server, kind)];

  test('the node itself answers, else its community, else the cloud', async () => {
    const nearest = { cloud1: on('cloud2'), cloud2: on('cloud2'), edge1: on('edge2') };
    const answers = (client: Name) => ({ ...nearest, edge2: on('edge2') })[client];
    const servers = [['edge2', kind] as const, ['cloud2', kind] as const];
    service = await serve(name, servers, keys, answers);
    await callFromEverywhere(`nearest ${short(kind)}`, service, answers);
  });

  test('the cloud answers all when no edge node has a ready server', async () => {
    await setEndpointReady(plane.admin, name, 0, false);
    const target = `${service.clusterIP}:80`;
    for (const node of fleet.all) await node.sees({ [target]: on('cloud2') });
    await callFromEverywhere(`edge2 unready ${short(kind)}`, service, () => on('cloud2'));
  });

  test('an edge server answers no cloud node when the cloud has none', async () => {
    await setEndpointReady(plane.admin, name, 0, true);
    await setEndpointReady(plane.admin, name, 1, false);
    const target = `${service.clusterIP}:80`;
    for (const edge of ['edge1', 'edge2']) await fleet.of(edge).sees({ [target]: on('edge2') });
    for (const cloud of ['cloud1', 'cloud2']) await fleet.of(cloud).sees({ [target]: [] });
    expect(await dial(netns('cloud1'), target, 4)).toEqual({ refused: 4 });
  });
});
