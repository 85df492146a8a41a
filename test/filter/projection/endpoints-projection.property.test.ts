import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Codec, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/codec/resource.ts';
import { explainedObject } from '../../../src/filter/projection/explained-object.ts';
import { takeAll } from '../../../src/topology/decide/steps.ts';
import { explainService } from '../../../src/topology/explain/explain-service.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import {
  type ClusterModel,
  OWN_NODE,
  ProjectionHarness,
} from '../../support/projection/projection-harness.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const SERVICES = ['default/web', 'default/db'] as const;
const NODES = [OWN_NODE, 'edge-2', 'edge-3', 'cloud-1'] as const;
const ZONE = 'topology.kubernetes.io/zone';
const ANNOTATIONS = [
  null,
  '["kubernetes.io/hostname","*"]',
  '["kubernetes.io/hostname","site","*"]',
  '["site"]',
  `["${ZONE}","*"]`,
  `["site","${ZONE}"]`,
  '[]',
  'invalid',
] as const;

interface ModelEndpoint {
  readonly address: number;
  readonly node: string;
  readonly zone: string;
  readonly state: number;
}

/**
 * One thing that happens to the cluster. Node sets that it makes necessary are answered only by `sync`; those that
 * nobody needs any more are closed by `minute`.
 */
type Step =
  | { kind: 'object'; service: number; slice: number; endpoints: ModelEndpoint[]; port: string }
  | { kind: 'delete'; service: number; slice: number }
  | { kind: 'annotate'; service: number; annotation: number }
  | { kind: 'remove-service'; service: number }
  | { kind: 'label'; node: number; site: string; zone: string }
  | { kind: 'sync' }
  | { kind: 'minute' };

const anyEndpoint = fc.record({
  address: fc.integer({ min: 1, max: 8 }),
  node: fc.constantFrom(...NODES, ''),
  zone: fc.constantFrom('z1', 'z2', ''),
  state: fc.integer({ min: 0, max: 2 }),
});
const service = fc.integer({ min: 0, max: SERVICES.length - 1 });
const slice = fc.integer({ min: 0, max: 2 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('object' as const),
      service,
      slice,
      endpoints: fc.array(anyEndpoint, { maxLength: 4 }),
      port: fc.constantFrom('http', 'metrics'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), service, slice }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('annotate' as const),
      service,
      annotation: fc.integer({ min: 0, max: ANNOTATIONS.length - 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove-service' as const), service }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('label' as const),
      node: fc.integer({ min: 0, max: NODES.length - 1 }),
      site: fc.constantFrom('a', 'b', ''),
      zone: fc.constantFrom('z1', 'z2', ''),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('sync' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('minute' as const) }) },
);

function labelsOf(site: string, zone: string): Record<string, string> {
  return { ...(site === '' ? {} : { site }), ...(zone === '' ? {} : { [ZONE]: zone }) };
}

function encodeStep(
  codec: Codec,
  resource: Resource,
  step: Extract<Step, { kind: 'object' }>,
  version: number,
): ObjectBytes {
  const [namespace = '', name = ''] = (SERVICES[step.service] as string).split('/');
  const metadata = {
    name: objectName(resource, step),
    namespace,
    uid: `uid-${step.service}-${step.slice}`,
    resourceVersion: String(version),
    generation: version,
    labels: { 'kubernetes.io/service-name': name },
  };
  const ports = [{ name: step.port, protocol: 'TCP', port: 80 }];
  const endpoints = step.endpoints.map(({ address, node, zone, state }) => ({
    addresses: [`10.0.0.${address}`],
    conditions: { ready: state === 0, serving: state <= 1, terminating: state === 1 },
    ...(node === '' ? {} : { nodeName: node }),
    ...(zone === '' ? {} : { zone }),
    ...(zone === 'z1' ? { hints: { forZones: [{ name: zone }] } } : {}),
  }));
  const addresses = (ready: boolean) =>
    step.endpoints
      .filter(({ state }) => (state === 0) === ready)
      .map(({ address, node }) => ({
        ip: `10.0.0.${address}`,
        ...(node === '' ? {} : { nodeName: node }),
      }));
  const object =
    resource === ENDPOINT_SLICES
      ? { metadata, addressType: 'IPv4', endpoints, ports }
      : {
          metadata,
          subsets: [{ addresses: addresses(true), notReadyAddresses: addresses(false), ports }],
        };
  return encodeObject(codec.encoding, resource.kind, object);
}

/** An Endpoints object has the name of its Service; a Service has several slices. */
function objectName(resource: Resource, step: { service: number; slice: number }): string {
  const [, name = ''] = (SERVICES[step.service] as string).split('/');
  return resource === ENDPOINTS ? name : `${name}-${step.slice}`;
}

class History {
  readonly model: ClusterModel = {
    nodes: new Map(NODES.map((node) => [node, labelsOf('a', 'z1')])),
    services: new Map(SERVICES.map((name) => [name, null])),
    objects: new Map(),
  };
  readonly harness: ProjectionHarness;
  readonly #codec: Codec;
  readonly #resource: Resource;
  #version = 100;

  constructor(codec: Codec, resource: Resource) {
    this.#codec = codec;
    this.#resource = resource;
    this.harness = new ProjectionHarness(codec, resource, this.model, 12_345_670);
    this.harness.start();
  }

  apply(step: Step): void {
    const { harness } = this;
    if (step.kind === 'sync') harness.syncNodeSets();
    else if (step.kind === 'minute') harness.closeLingering();
    else if (step.kind === 'label') this.#label(step);
    else if (step.kind === 'annotate') {
      this.#setAnnotation(step.service, ANNOTATIONS[step.annotation] as string | null);
    } else if (step.kind === 'remove-service') this.#setAnnotation(step.service, undefined);
    else this.#setObject(step);
  }

  #label(step: Extract<Step, { kind: 'label' }>): void {
    this.model.nodes.set(NODES[step.node] as string, labelsOf(step.site, step.zone));
    if (step.node === 0) this.harness.setOwnLabels();
    this.harness.followNodes();
  }

  /** `undefined` deletes the Service. */
  #setAnnotation(index: number, annotation: string | null | undefined): void {
    const name = SERVICES[index] as string;
    if (annotation === undefined) this.model.services.delete(name);
    else this.model.services.set(name, annotation);
    this.harness.setPolicies([name]);
  }

  #setObject(step: Extract<Step, { kind: 'object' | 'delete' }>): void {
    const { objects } = this.model;
    const key = `default/${objectName(this.#resource, step)}`;
    const existed = objects.has(key);
    if (step.kind === 'delete') objects.delete(key);
    else objects.set(key, encodeStep(this.#codec, this.#resource, step, ++this.#version));
    this.harness.tell(key, existed);
  }

  /**
   * What a fresh list of the model under its world shows, without what is no change for a client.
   *
   * @param unknown of a selector, whether the API server has not answered it yet
   */
  fresh(unknown: (selector: string) => boolean = () => false): Map<string, string> {
    const fresh = new ProjectionHarness(this.#codec, this.#resource, this.model, 0);
    fresh.start(unknown);
    return significantOf(fresh);
  }
}

function significantOf(harness: ProjectionHarness): Map<string, string> {
  const { codec, view } = harness;
  const entries = view.snapshot().items.map((item) => {
    const { namespace, name } = codec.meta(item);
    return [`${namespace}/${name}`, codec.semanticBytes(item).toString('latin1')] as const;
  });
  return new Map(entries.sort());
}

/** Follows the log from the start and checks each event; returns what a client then has. */
function replay(harness: ProjectionHarness): Map<string, ObjectBytes> {
  const { codec, view } = harness;
  const client = new Map<string, ObjectBytes>();
  let last = 0n;
  for (let position = 0; position < view.log.end; position++) {
    const entry = view.log.at(position);
    if (entry === undefined) throw new Error(`no entry at ${position}`);
    const { namespace, name, resourceVersion } = codec.meta(entry.object);
    const key = `${namespace}/${name}`;
    expect(entry.version > last).toBe(true);
    expect(resourceVersion).toBe(String(entry.version));
    expect(entry.type === 'ADDED').toBe(!client.has(key));
    last = entry.version;
    if (entry.type === 'DELETED') client.delete(key);
    else client.set(key, entry.object);
  }
  return client;
}

/**
 * Addresses by object, as they are shown and as they are explained. Of a Service that waits for a node set an
 * earlier state is shown: explained is what of it is still there.
 */
function shownAndExplained({ codec, view, projection, topology }: ProjectionHarness) {
  const { resource } = view;
  const shown: string[] = [];
  for (const object of view.snapshot().items) {
    const { name } = codec.meta(object);
    for (const { endpoints } of codec.addresses(resource, object)) {
      for (const [address] of endpoints) shown.push(`${name} ${address}`);
    }
  }
  const explained: string[] = [];
  const waiting = new Set<string>();
  for (const service of projection.services()) {
    const { objects, held } = projection.inspect(service);
    const steps = explainService({
      topology,
      service,
      objects: objects.map((object) => explainedObject(view, object)),
      origins: [],
      held,
      timeOf: (ms) => new Date(ms),
      since: undefined,
      limits: { endpoints: 1_000, ports: 200 },
    });
    const { endpoints, outcome } = takeAll(steps);
    if (outcome.kind === 'undecided') for (const { key } of objects) waiting.add(key);
    for (const { kept, object, address } of endpoints) {
      if (kept) explained.push(`${object} ${address}`);
    }
  }
  return { shown: shown.sort(), explained: explained.sort(), waiting };
}

describe.each([
  ['EndpointSlice', 'protobuf', ENDPOINT_SLICES, createProtobufCodec()],
  ['EndpointSlice', 'json', ENDPOINT_SLICES, createJsonCodec()],
  ['Endpoints', 'protobuf', ENDPOINTS, createProtobufCodec()],
  ['Endpoints', 'json', ENDPOINTS, createJsonCodec()],
] as const)('a view of %s in %s', (_kind, _encoding, resource, codec) => {
  test('after any history shows what a fresh list shows, to readers and to followers of its log', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
        const history = new History(codec, resource);
        for (const step of steps) history.apply(step);
        history.apply({ kind: 'sync' });
        const { harness } = history;
        expect(significantOf(harness)).toEqual(history.fresh());
        const followed = [...replay(harness).values()].map((object) => object.toString('hex'));
        const listed = harness.view.snapshot().items.map((object) => object.toString('hex'));
        expect(followed.sort()).toEqual(listed.sort());
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('at each moment shows a Service as the world before or after the change would', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 20 }), (steps) => {
        const history = new History(codec, resource);
        let before = history.fresh();
        for (const step of steps) {
          history.apply(step);
          const during = significantOf(history.harness);
          // Nothing waits for the nodes of the zone: until they are known, endpoints without one do not match.
          const zoneUnknown = history.fresh((selector) => selector.startsWith(ZONE));
          history.apply({ kind: 'sync' });
          const after = history.fresh();
          expect(significantOf(history.harness)).toEqual(after);
          for (const [key, shown] of during) {
            expect([before.get(key), zoneUnknown.get(key), after.get(key)]).toContain(shown);
          }
          before = after;
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('is explained, at each moment, as it is shown', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 30 }), (steps) => {
        const history = new History(codec, resource);
        for (const step of steps) {
          history.apply(step);
          const { shown, explained, waiting } = shownAndExplained(history.harness);
          const decided = (line: string) => !waiting.has(`default/${line.split(' ')[0]}`);
          expect(explained.filter(decided)).toEqual(shown.filter(decided));
          expect(explained.filter((line) => !shown.includes(line))).toEqual([]);
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('sends no event for a managed Service when nothing that this node sees has changed', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 30 }), (steps) => {
        const history = new History(codec, resource);
        history.apply({ kind: 'annotate', service: 0, annotation: 1 });
        history.apply({ kind: 'annotate', service: 1, annotation: 1 });
        for (const step of steps) {
          if (step.kind === 'annotate' || step.kind === 'remove-service') continue;
          const before = significantOf(history.harness);
          const end = history.harness.view.log.end;
          history.apply(step);
          const after = significantOf(history.harness);
          const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
            (key) => before.get(key) !== after.get(key),
          );
          expect(history.harness.view.log.end - end).toBe(changed.length);
        }
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});
