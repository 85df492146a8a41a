import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS } from '../../../src/filter/codec/resource.ts';
import { explainedObject } from '../../../src/filter/projection/explained-object.ts';
import { explainService } from '../../../src/topology/explain/explain-service.ts';
import type { ServiceOutcome } from '../../../src/topology/state/service-outcome.ts';
import { EndpointsHistory, significantOf } from '../../support/projection/endpoints-history.ts';
import { anyStep } from '../../support/projection/endpoints-steps.ts';
import { outcomeNow } from '../../support/projection/outcome-now.ts';
import type { ProjectionHarness } from '../../support/projection/projection-harness.ts';
import { propertyRuns } from '../../support/property-runs.ts';

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
 * Addresses by object, as they are shown and as they are explained. A Service that waits for a node set shows an earlier
 * state; the explanation has what is left of it.
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
    const { outcome, objects, delayed } = projection.inspect(service);
    const { endpoints, counts } = explainService({
      topology,
      outcome,
      objects: objects.map((object) => explainedObject(view, object)),
      origins: [],
      delayed,
      timeOf: (ms) => new Date(ms),
      since: undefined,
      limits: { endpoints: 1_000, ports: 200 },
    });
    if (outcome.kind === 'undecided') for (const { key } of objects) waiting.add(key);
    else expect(counts).toMatchObject(countsOf(outcome));
    for (const { kept, object, address } of endpoints) {
      if (kept) explained.push(`${object} ${address}`);
    }
  }
  return { shown: shown.sort(), explained: explained.sort(), waiting };
}

function countsOf({ total, kept, ready }: ServiceOutcome) {
  return { total, kept, ready };
}

/** What is stored about each Service, and what a decision made now says. One that waits keeps what is shown of it. */
function storedAndFresh({ projection, topology }: ProjectionHarness) {
  const services = [...projection.services()].map((service) => projection.inspect(service));
  return services.map(({ outcome, objects }) => {
    const groups = objects.flatMap((object) => object.groups);
    const fresh = outcomeNow(topology, outcome.service, groups);
    const { kind, total } = fresh;
    return [outcome, kind === 'undecided' ? { ...outcome, kind, total } : fresh] as const;
  });
}

describe.each([
  ['EndpointSlice', 'protobuf', ENDPOINT_SLICES, createProtobufCodec()],
  ['EndpointSlice', 'json', ENDPOINT_SLICES, createJsonCodec()],
  ['Endpoints', 'protobuf', ENDPOINTS, createProtobufCodec()],
  ['Endpoints', 'json', ENDPOINTS, createJsonCodec()],
] as const)('a view of %s in %s', (_kind, _encoding, resource, codec) => {
  test('after any history, its state and its log equal a fresh list', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
        const history = new EndpointsHistory(codec, resource);
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

  test('at each moment shows a Service as the topology before or after the change requires', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 20 }), (steps) => {
        const history = new EndpointsHistory(codec, resource);
        let before = history.fresh();
        for (const step of steps) {
          history.apply(step);
          const during = significantOf(history.harness);
          history.apply({ kind: 'sync' });
          const after = history.fresh();
          expect(significantOf(history.harness)).toEqual(after);
          for (const [key, shown] of during) {
            expect([before.get(key), after.get(key)]).toContain(shown);
          }
          before = after;
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('explains at each moment what it shows', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 30 }), (steps) => {
        const history = new EndpointsHistory(codec, resource);
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

  test('stores the outcome of each Service as a decision made now has it', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 30 }), (steps) => {
        const history = new EndpointsHistory(codec, resource);
        for (const step of steps) {
          history.apply(step);
          for (const [stored, fresh] of storedAndFresh(history.harness)) {
            expect(stored).toEqual(fresh);
          }
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('sends no event for a managed Service if nothing that this node sees has changed', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 30 }), (steps) => {
        const history = new EndpointsHistory(codec, resource);
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
