import type { KubeObject } from '../../../../fake-apiserver/kube-object.ts';
import { toService, toSlice } from '../../../../harness/history/history-objects.ts';
import type { ModelEndpoint } from '../../../../harness/history/model.ts';
import type { Random } from '../../../../harness/random.ts';
import { SELF } from '../wrapper-under-test.ts';
import type { MemoryBackend, WrittenCollection } from './memory-backend.ts';
import { Timeline, type TimelineSlice } from './timeline.ts';

/** Annotation with the number of the write. */
export const SEQ = 'test.kube-proxy-wrapper.io/seq';
const NODES = ['n1', 'n2', 'n3'] as const;
/** The first always depends on the node set, so that the set stays open and each relabel of a node shows. */
const SERVICES: readonly string[] = ['s0', 's1', 's2', 's3'];
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

/** A cluster with a random history, and what its clients may show. Each write is in the timeline before it is sent. */
export class Cluster {
  readonly backend: MemoryBackend;
  readonly timeline = new Timeline({ site: 'a' });

  constructor(backend: MemoryBackend, random: Random) {
    this.backend = backend;
    this.#write('nodes', SELF);
    for (const name of NODES) this.#relabel(random, name);
    for (const name of SERVICES) {
      this.#setService(name, name === 's0' ? SITE_ONLY : random.pick(KEYS));
      for (const letter of LETTERS) this.#setSlice(random, `${name}-${letter}`);
    }
  }

  /** Makes one random change. */
  change(random: Random): void {
    const kind = random.below(100);
    if (kind < 45) this.#setSlice(random, `${random.pick(SERVICES)}-${random.pick(LETTERS)}`);
    else if (kind < 65) this.#relabel(random, random.pick(NODES));
    else if (kind < 72) this.#relabel(random, SELF);
    else if (kind < 92) this.#rekey(random);
    else this.#recreate(random, random.pick(SERVICES));
  }

  /** Makes a change of each input, so that the view is right only when each query has caught up. */
  changeAll(random: Random): void {
    this.#setSlice(random, `${random.pick(SERVICES)}-${random.pick(LETTERS)}`);
    this.#relabel(random, random.pick(NODES));
    this.#rekey(random);
    if (random.chance(0.3)) this.#relabel(random, SELF);
  }

  /** Writes all objects again, as into an empty etcd. */
  writeAll(): void {
    const { nodes, services, slices } = this.timeline.state;
    for (const name of [SELF, ...nodes.keys()]) this.#write('nodes', name);
    for (const name of services.keys()) this.#write('services', name);
    for (const name of slices.keys()) this.#write('endpointslices', name);
  }

  #setSlice(random: Random, name: string): void {
    this.timeline.slice(name).push(randomSlice(random, name, this.timeline.nextSeq()));
    this.#write('endpointslices', name);
  }

  #setService(name: string, topologyKeys: string | undefined): void {
    this.timeline.service(name).push({ topologyKeys, seq: this.timeline.nextSeq() });
    this.#write('services', name);
  }

  #relabel(random: Random, name: string): void {
    const { self, nodes } = this.timeline;
    if (name === SELF) self.push({ site: self.last.site === 'a' ? 'b' : 'a' });
    else this.timeline.setNode(name, otherLabels(random, nodes.last.get(name)?.site));
    this.#write('nodes', name);
  }

  #rekey(random: Random): void {
    const name = random.pick(SERVICES.slice(1));
    const now = this.timeline.service(name).last?.topologyKeys;
    this.#setService(name, random.pick(KEYS.filter((keys) => keys !== now)));
  }

  /** Deleted with its slices and created again, as one of another author is. */
  #recreate(random: Random, name: string): void {
    const topologyKeys = this.timeline.service(name).last?.topologyKeys;
    this.timeline.service(name).push(undefined);
    this.#write('services', name);
    for (const letter of LETTERS) {
      this.timeline.slice(`${name}-${letter}`).push(undefined);
      this.#write('endpointslices', `${name}-${letter}`);
    }
    this.#setService(name, topologyKeys);
    for (const letter of LETTERS) this.#setSlice(random, `${name}-${letter}`);
  }

  #write(collection: WrittenCollection, name: string): void {
    const object = this.#objectOf(collection, name);
    if (object === undefined) this.backend.delete(collection, name);
    else this.backend.put(collection, object);
  }

  #objectOf(collection: WrittenCollection, name: string): KubeObject | undefined {
    const { timeline } = this;
    if (collection === 'nodes') {
      const labels = name === SELF ? timeline.self.last : timeline.nodes.last.get(name);
      return labels && { metadata: { name, labels } };
    }
    if (collection === 'services') {
      const service = timeline.service(name).last;
      const clusterIP = `10.96.77.${indexOf(name) + 1}`;
      return service && withSeq(toService(name, service, clusterIP), service.seq);
    }
    const slice = timeline.slice(name).last;
    if (slice === undefined) return undefined;
    const object = { ...slice.object, service: `default/${slice.object.service}` };
    return withSeq(toSlice(name, object, 4, false), slice.seq);
  }
}

function withSeq(object: KubeObject, seq: number): KubeObject {
  const { metadata } = object;
  const annotations = { ...metadata.annotations, [SEQ]: String(seq) };
  return { ...object, metadata: { ...metadata, annotations } };
}

function indexOf(service: string): number {
  return SERVICES.indexOf(service);
}

function otherLabels(random: Random, site: string | undefined): Readonly<Record<string, string>> {
  const next = random.pick(['a', 'b', undefined].filter((each) => each !== site));
  return next === undefined ? {} : { site: next };
}

/** Addresses say slice, node and write, so that a state that never was cannot look like one that was. */
function randomSlice(random: Random, name: string, seq: number): TimelineSlice {
  const service = name.slice(0, -2);
  const net = indexOf(service) * 2 + (name.endsWith('a') ? 0 : 1);
  const endpoints = [SELF, ...NODES].flatMap((node, index): ModelEndpoint[] => {
    // Those of the first Service are on each node and ready, so that each relabel changes its view.
    if (service !== 's0' && !random.chance(0.6)) return [];
    const state = service === 's0' || random.chance(0.75) ? 'ready' : 'notReady';
    const address = `10.${net * 4 + index + 1}.${Math.floor(seq / 250)}.${(seq % 250) + 1}`;
    return [{ address, node, zone: undefined, state }];
  });
  return { seq, object: { service, groups: [{ ports: ['http'], endpoints }] } };
}
