import type { KubeObject } from '../../../../embedded/kube-object.ts';
import type { ModelEndpoint, ModelObject } from '../../support/model.ts';
import type { Random } from '../../support/random.ts';
import { type ClusterBackend, SELF } from '../cluster-backend.ts';
import type { Timeline, TimelineSlice } from './timeline.ts';

/** Annotation with the number of the write. */
export const SEQ = 'test.kube-proxy-wrapper.io/seq';
const NODES = ['n1', 'n2', 'n3'] as const;
/** The first always depends on the node set, so that the set stays open and each relabel of a node shows. */
const SERVICES = ['s0', 's1', 's2', 's3'] as const;
const SITE_ONLY = '["site"]';
const KEYS: readonly (string | undefined)[] = [
  undefined,
  SITE_ONLY,
  '["site","*"]',
  '["kubernetes.io/hostname"]',
  '["kubernetes.io/hostname","site"]',
  '["*"]',
];
const LETTERS = ['a', 'b'] as const;

/** Writes a random history to a cluster; each write is in the timeline before it is sent. */
export function historyWriter(backend: ClusterBackend, timeline: Timeline) {
  const write = async (kind: 'node' | 'service' | 'slice', name: string): Promise<void> => {
    const [collection, object] = objectOf(timeline, kind, name);
    if (object === undefined) await backend.delete(collection, name);
    else await backend.put(collection, object);
  };
  const setSlice = async (random: Random, name: string): Promise<void> => {
    timeline.slice(name).push(randomSlice(random, name, timeline.nextSeq()));
    await write('slice', name);
  };
  const setService = async (name: string, topologyKeys: string | undefined): Promise<void> => {
    timeline.service(name).push({ topologyKeys, seq: timeline.nextSeq() });
    await write('service', name);
  };
  const relabel = async (random: Random, name: string): Promise<void> => {
    if (name === SELF) timeline.self.push({ site: timeline.self.last.site === 'a' ? 'b' : 'a' });
    else timeline.setNode(name, otherLabels(random, timeline.nodes.last.get(name)?.site));
    await write('node', name);
  };
  /** Deleted with its slices and created again, as one of another author is. */
  const recreate = async (random: Random, name: string): Promise<void> => {
    const topologyKeys = timeline.service(name).last?.topologyKeys;
    timeline.service(name).push(undefined);
    await write('service', name);
    for (const letter of LETTERS) {
      timeline.slice(`${name}-${letter}`).push(undefined);
      await write('slice', `${name}-${letter}`);
    }
    await setService(name, topologyKeys);
    for (const letter of LETTERS) await setSlice(random, `${name}-${letter}`);
  };
  const rekey = async (random: Random): Promise<void> => {
    const name = random.pick(SERVICES.slice(1));
    const now = timeline.service(name).last?.topologyKeys;
    await setService(name, random.pick(KEYS.filter((keys) => keys !== now)));
  };
  const change = async (random: Random): Promise<void> => {
    const kind = random.below(100);
    if (kind < 45) {
      return await setSlice(random, `${random.pick(SERVICES)}-${random.pick(LETTERS)}`);
    }
    if (kind < 65) return await relabel(random, random.pick(NODES));
    if (kind < 72) return await relabel(random, SELF);
    if (kind < 92) return await rekey(random);
    await recreate(random, random.pick(SERVICES));
  };
  return {
    begin: async (random: Random) => {
      await write('node', SELF);
      for (const name of NODES) await relabel(random, name);
      for (const name of SERVICES) {
        await setService(name, name === 's0' ? SITE_ONLY : random.pick(KEYS));
        for (const letter of LETTERS) await setSlice(random, `${name}-${letter}`);
      }
    },
    change,
    changeAll: async (random: Random) => {
      await setSlice(random, `${random.pick(SERVICES)}-${random.pick(LETTERS)}`);
      await relabel(random, random.pick(NODES));
      await rekey(random);
      if (random.chance(0.3)) await relabel(random, SELF);
    },
    writeAll: async () => {
      const { nodes, services, slices } = timeline.state;
      for (const name of [SELF, ...nodes.keys()]) await write('node', name);
      for (const name of services.keys()) await write('service', name);
      for (const name of slices.keys()) await write('slice', name);
    },
  };
}

function otherLabels(random: Random, site: string | undefined): Readonly<Record<string, string>> {
  const next = random.pick(['a', 'b', undefined].filter((each) => each !== site));
  return next === undefined ? {} : { site: next };
}

/** Addresses say slice, node and write, so that a state that never was cannot look like one that was. */
function randomSlice(random: Random, name: string, seq: number): TimelineSlice {
  const service = name.slice(0, -2);
  const net =
    SERVICES.indexOf(service as (typeof SERVICES)[number]) * 2 + (name.endsWith('a') ? 0 : 1);
  const endpoints = [SELF, ...NODES].flatMap((node, index): ModelEndpoint[] => {
    // Those of the first Service are on each node and ready, so that each relabel changes its view.
    if (service !== 's0' && !random.chance(0.6)) return [];
    const state = service === 's0' || random.chance(0.75) ? 'ready' : 'notReady';
    const address = `10.${net * 4 + index + 1}.${Math.floor(seq / 250)}.${(seq % 250) + 1}`;
    return [{ address, node, zone: undefined, state }];
  });
  const object: ModelObject = { service, groups: [{ ports: ['http'], endpoints }] };
  return { seq, object };
}

type Written = readonly ['nodes' | 'services' | 'endpointslices', KubeObject | undefined];

function objectOf(timeline: Timeline, kind: 'node' | 'service' | 'slice', name: string): Written {
  if (kind === 'node') {
    const labels = name === SELF ? timeline.self.last : timeline.nodes.last.get(name);
    return ['nodes', labels && { metadata: { name, labels } }];
  }
  if (kind === 'service') return ['services', serviceObject(timeline, name)];
  const slice = timeline.slice(name).last;
  return ['endpointslices', slice && sliceObject(name, slice)];
}

function serviceObject(timeline: Timeline, name: string): KubeObject | undefined {
  const service = timeline.service(name).last;
  if (service === undefined) return undefined;
  const { topologyKeys, seq } = service;
  return {
    metadata: {
      name,
      annotations: { [SEQ]: String(seq), ...(topologyKeys === undefined ? {} : { topologyKeys }) },
    },
    spec: {
      clusterIP: `10.96.77.${SERVICES.indexOf(name as (typeof SERVICES)[number]) + 1}`,
      ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
    },
  };
}

function sliceObject(name: string, { seq, object }: TimelineSlice): KubeObject {
  const endpoints = object.groups.flatMap((group) => group.endpoints);
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/service-name': object.service,
        'endpointslice.kubernetes.io/managed-by': 'test.kube-proxy-wrapper.io',
      },
      annotations: { [SEQ]: String(seq) },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: endpoints.map(({ address, node, state }) => ({
      addresses: [address],
      conditions: { ready: state === 'ready', serving: state === 'ready', terminating: false },
      nodeName: node,
    })),
  };
}
