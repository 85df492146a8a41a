import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EndpointsFacts } from '../../../src/filter/codec/codec.ts';
import type { Change } from '../../../src/filter/codec/facts/change.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { startSliceProjection } from '../../support/projection/slice-projection.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** Changes are this many milliseconds apart, or a multiple of it; the test checks as often. */
const STEP = 100;
const DELAY = 10 * STEP;
const PORTS = ['a', 'b'] as const;
/** Keys from near to far, and an endpoint that each is the first to match. */
const KEYS = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone', '*'];
const PLACES = [
  { nodeName: 'own', zone: 'z' },
  { nodeName: 'near', zone: 'z' },
  { nodeName: 'far', zone: 'y' },
] as const;

/** Ready endpoints by place, for each port; undefined: the port is gone. */
type Ready = Readonly<Record<(typeof PORTS)[number], readonly number[] | undefined>>;

const anyReady = fc.option(fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2)), { nil: undefined, freq: 9 });
const anyHistory = fc.array(
  fc.record({ wait: fc.nat(7), ready: fc.record({ a: anyReady, b: anyReady }) }),
  { minLength: 1, maxLength: 25 },
);
const anyMinReady = fc.constantFrom(undefined, [2, 1, 1], [2, 2, 1], [2, 2, 2]);

const codec = new ProtobufCodec();

function slice(port: string, counts: readonly number[], version: number): Change<EndpointsFacts> {
  const endpoints = counts.flatMap((count, place) =>
    Array.from({ length: 2 }, (_, index) => ({
      addresses: [`10.0.${place}.${index}`],
      conditions: { ready: index < count },
      ...PLACES[place],
    })),
  );
  const metadata = {
    name: `web-${port}`,
    namespace: 'default',
    uid: port,
    resourceVersion: String(version),
    labels: { 'kubernetes.io/service-name': 'web' },
  };
  const ports = [{ name: port, protocol: 'TCP', port: 80 }];
  const model = { metadata, addressType: 'IPv4', endpoints, ports };
  const object = encodeObject('protobuf', 'EndpointSlice', model);
  return {
    type: 'MODIFIED',
    key: `default/web-${port}`,
    facts: codec.endpointSlice(object),
    object,
  };
}

function start(minReady: readonly number[] | undefined) {
  const { topology, view, clock, projection } = startSliceProjection();
  const labels = new Map([['topology.kubernetes.io/zone', 'z']]);
  topology.setOwnNode({ labels, annotations: new Map() });
  const policy = { managed: true, keys: KEYS, source: 'default', returnDelayMs: DELAY } as const;
  const whole = { ...policy, ...(minReady === undefined ? {} : { minReady }) };
  topology.setPolicies(new Map([['default/web', whole]]));
  topology.setSynced('services');
  projection.onSynced();
  return { view, clock, projection };
}

/** The key whose endpoints a port shows: that of the farthest place shown; -1: none is ready. */
function shownKey(view: View, port: string, counts: readonly number[]): number {
  const text = view.get(`default/web-${port}`)?.toString('latin1') ?? '';
  if (counts.every((count) => count === 0)) return -1;
  return PLACES.findLastIndex((_, place) => text.includes(`10.0.${place}.`));
}

/** A port according to the rule: since when each key counts, and the key that traffic goes to. */
class SlowPort {
  readonly #minReady: readonly number[];
  #held = -1;
  #since: (number | undefined)[] = [];

  constructor(minReady: readonly number[]) {
    this.#minReady = minReady;
  }

  /** Called at each step: checks whether a nearer key has waited long enough. */
  at(now: number, counts: readonly number[]): number {
    // A key matches the endpoints of its place and of all nearer ones.
    const matching = KEYS.map((_, key) => counts.slice(0, key + 1).reduce((a, b) => a + b, 0));
    const enough = matching.map((count, key) => count >= (this.#minReady[key] ?? 1));
    const counted = enough.includes(true) ? enough : matching.map((count) => count > 0);
    this.#since = counted.map((counts, key) => (counts ? (this.#since[key] ?? now) : undefined));
    const ready = KEYS.map((_, key) => key).filter((key) => counted[key]);
    if (this.#held >= 0 && ready.length > 0) {
      const waited = (key: number) => now - (this.#since[key] ?? now) >= DELAY;
      const nearer = ready.find((key) => key < this.#held && waited(key));
      this.#held = nearer ?? ready.find((key) => key >= this.#held) ?? (ready[0] as number);
    } else {
      this.#held = ready[0] ?? -1;
    }
    return this.#held;
  }
}

test('for any history of readiness, traffic returns exactly when a nearer key was ready for the whole delay', () => {
  fc.assert(
    fc.property(anyHistory, anyMinReady, (history, minReady) => {
      const { view, clock, projection } = start(minReady);
      let model = new Map<string, SlowPort>();
      let ready: Ready = { a: undefined, b: undefined };
      let version = 1;
      const check = () => {
        for (const port of PORTS) {
          const counts = ready[port];
          if (counts === undefined) continue;
          expect(shownKey(view, port, counts)).toBe(model.get(port)?.at(clock.now(), counts));
        }
      };
      for (const step of history) {
        for (let steps = 0; steps < step.wait; steps++) {
          clock.pass(STEP);
          check();
        }
        ({ ready } = step);
        const ports = PORTS.filter((port) => ready[port] !== undefined);
        model = new Map(
          ports.map((port) => [port, model.get(port) ?? new SlowPort(minReady ?? [1, 1, 1])]),
        );
        projection.onChanges(
          PORTS.map((port) => {
            const counts = ready[port];
            if (counts === undefined) return { type: 'DELETED', key: `default/web-${port}` };
            return slice(port, counts, ++version);
          }),
        );
        check();
        expect(clock.waiting).toBeLessThanOrEqual(1);
      }
      clock.pass(3 * DELAY);
      check();
      expect(clock.waiting).toBe(0);
      projection.close();
    }),
    { numRuns: propertyRuns(500) },
  );
});
