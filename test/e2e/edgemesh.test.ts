import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createPod, createService } from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { dial } from './support/dial.ts';
import { eventually } from './support/eventually.ts';
import { type Informers, type InformerVariant, startInformers } from './support/informer.ts';
import { type Fleet, type ServedNode, startFleet } from './support/served-node.ts';

jest.setTimeout(180_000);

const LABEL = 'service.edgemesh.kubeedge.io/service-proxy-name';
const HERE = '10.244.1.1:80';
const THERE = '10.244.1.2:80';
const KUBERNETES = '10.96.0.1:443';

let plane: ControlPlane;
let fleet: Fleet;
/** `clusterIP:port` of the Service without and of the one with the label, at the start. */
let plain: string;
let labelled: string;

beforeAll(async () => {
  plane = await startControlPlane();
  const node = (nodeName: string, mode: 'iptables' | 'nftables', serviceFilter: object) => ({
    plane,
    nodeName,
    mode,
    settings: { serviceFilter },
  });
  // Before the nodes: hidden from the start, not only from a change on.
  await createPod(plane.admin, pod('here', 'takes-labelled', HERE));
  await createPod(plane.admin, pod('there', 'takes-unlabelled', THERE));
  plain = await createWeb('plain', {});
  labelled = await createWeb('labelled', { [LABEL]: 'edgemesh' });
  fleet = await startFleet([
    node('takes-labelled', 'nftables', { mode: 'FilterIfLabelExists' }),
    node('takes-unlabelled', 'iptables', { mode: 'FilterIfLabelDoesNotExists' }),
  ]);
  await fleet.each(async ({ netns }) => await netns.addEndpoints([HERE, THERE]));
});

afterAll(async () => {
  await fleet?.stop();
  await plane?.stop();
});

const pod = (name: string, nodeName: string, at: string) => ({
  name,
  nodeName,
  labels: { app: 'web' },
  ip: at.replace(':80', ''),
});

async function createWeb(name: string, labels: Record<string, string>): Promise<string> {
  const { spec } = await createService(plane.admin, {
    name,
    labels,
    selector: { app: 'web' },
    ports: [{ port: 80 }],
  });
  return `${spec.clusterIP}:80`;
}

async function setLabels(name: string, labels: Record<string, string | null>): Promise<void> {
  await plane.admin.patch(`/api/v1/namespaces/default/services/${name}`, { metadata: { labels } });
}

const ALL = [HERE, THERE];

/** Expects who sees a Service: the node that takes labelled ones, or the one that takes the others. */
async function follow(
  target: string,
  nodes: Readonly<Record<string, readonly string[] | undefined>>,
): Promise<void> {
  for (const [name, backends] of Object.entries(nodes)) {
    await fleet.of(name).sees({ [target]: backends });
  }
}

describe('a Service that EdgeMesh serves', () => {
  test('is in no table of kube-proxy, from the start and in both modes', async () => {
    await follow(labelled, { 'takes-labelled': ALL });
    await follow(plain, { 'takes-unlabelled': ALL });
    await fleet.of('takes-labelled').keeps({ [plain]: undefined });
    await fleet.of('takes-unlabelled').keeps({ [labelled]: undefined });
  });

  test('moves between the two as its label is set and removed', async () => {
    for (let round = 0; round < 3; round++) {
      await setLabels('plain', { [LABEL]: '' });
      await setLabels('labelled', { [LABEL]: null });
      await follow(plain, { 'takes-labelled': ALL, 'takes-unlabelled': undefined });
      await follow(labelled, { 'takes-labelled': undefined, 'takes-unlabelled': ALL });
      await setLabels('plain', { [LABEL]: null });
      await setLabels('labelled', { [LABEL]: 'edgemesh' });
      await follow(plain, { 'takes-labelled': undefined, 'takes-unlabelled': ALL });
      await follow(labelled, { 'takes-labelled': ALL, 'takes-unlabelled': undefined });
    }
    expect(Object.keys(await dial(fleet.of('takes-labelled').netns, labelled)).sort()).toEqual(ALL);
  });

  test('is never default/kubernetes', async () => {
    const { port } = new URL(plane.server);
    const wanted = { [KUBERNETES]: [`10.99.0.1:${port}`] };
    for (const node of fleet.all) await node.keeps(wanted, 100);
    await setLabels('kubernetes', { [LABEL]: 'edgemesh' });
    // The same, a moment later, where every node sees it.
    await setLabels('plain', { [LABEL]: 'edgemesh' });
    await follow(plain, { 'takes-labelled': ALL, 'takes-unlabelled': undefined });
    for (const node of fleet.all) await node.keeps(wanted);
    await setLabels('kubernetes', { [LABEL]: null });
    await setLabels('plain', { [LABEL]: null });
    await follow(plain, { 'takes-labelled': undefined, 'takes-unlabelled': ALL });
  });
});

describe('informers behind the wrapper that takes labelled Services', () => {
  let informers: Informers;

  beforeAll(async () => {
    const node = fleet.of('takes-labelled');
    const { binaries } = plane;
    informers = startInformers({ binaries, netns: node.netns, variants: variantsOf(node) });
    await informers.allSynced();
  });

  afterAll(async () => {
    await informers?.stop();
  });

  /** The Services that each informer holds, or holds slices or Endpoints of. */
  async function held(): Promise<Record<string, string[]>> {
    const reports = await informers.dump();
    return Object.fromEntries(
      Array.from(reports, ([name, { store, handled }]) => {
        expect([name, handled.map(({ key }) => key)]).toEqual([name, store.map(({ key }) => key)]);
        // Slices that a controller made are named by their Service, a dash, and five letters.
        const services = store.map(({ key }) => key.replace(/^default\/(\w+)(-\w{5})?$/, '$1'));
        return [name, [...new Set(services)].sort()];
      }),
    );
  }

  async function allHold(services: readonly string[]): Promise<void> {
    const wanted = [...services].sort().join();
    await eventually(
      held,
      (found) => Object.values(found).every((list) => list.join() === wanted),
      { what: `every informer holds ${wanted}` },
    );
  }

  test('agree on Services, slices and Endpoints, in LIST and WATCH, and follow the label', async () => {
    await allHold(['kubernetes', 'labelled']);
    await setLabels('plain', { [LABEL]: '' });
    await allHold(['kubernetes', 'labelled', 'plain']);
    await setLabels('labelled', { [LABEL]: null });
    await allHold(['kubernetes', 'plain']);
    await setLabels('labelled', { [LABEL]: '' });
    await setLabels('plain', { [LABEL]: null });
    await allHold(['kubernetes', 'labelled']);
    const late = startInformers({
      binaries: plane.binaries,
      netns: fleet.of('takes-labelled').netns,
      variants: variantsOf(fleet.of('takes-labelled')),
    });
    try {
      await late.allSynced();
      const [before, after] = [await informers.dump(), await late.dump()];
      for (const [name, { store }] of before) expect(after.get(name)?.store).toEqual(store);
    } finally {
      await late.stop();
    }
  });
});

function variantsOf(node: ServedNode): InformerVariant[] {
  const server = node.wrapper().url;
  const resources = ['services', 'endpointslices', 'endpoints'] as const;
  return resources.flatMap((resource) =>
    (['protobuf', 'json'] as const).flatMap((contentType) =>
      [true, false].map((streaming) => ({
        name: `${resource} ${contentType} ${streaming ? 'streaming' : 'list'}`,
        server,
        resource,
        contentType,
        streaming,
      })),
    ),
  );
}
