import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { EndpointIndex } from '../../../src/filter/projection/endpoint-index.ts';
import { sliceChange } from '../../support/projection/slice-change.ts';

const SERVICES = ['web', 'db'];
const step = fc.record({
  name: fc.constantFrom('s0', 's1', 's2', 's3'),
  service: fc.constantFrom(...SERVICES),
  isRemoved: fc.boolean(),
});

test('the index has each Service with its slices, after any history of these', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30, size: 'max' }), (history) => {
      const index = new EndpointIndex();
      /** Each with its Service. */
      const slices = new Map<string, string>();
      for (const { name, service, isRemoved } of history) {
        const before = index.get(`default/${name}`);
        if (before !== undefined) index.remove(before);
        slices.delete(name);
        if (isRemoved) continue;
        const change = sliceChange(CODECS.protobuf, { name, service, endpoints: [] });
        if (change.type === 'DELETED') continue;
        const traits = { selected: true, ofOtherProxy: false };
        index.add(change.key, change.facts, change.object, traits);
        slices.set(name, service);
      }
      for (const service of SERVICES) {
        const own = [...slices].filter(([, of]) => of === service);
        const keys = index.ofService(`default/${service}`).map(({ key }) => key);
        // In the order of their keys: of two copies the first one counts, whatever came first.
        expect(keys).toEqual(own.map(([name]) => `default/${name}`).sort());
      }
      expect(new Set(index.services())).toEqual(
        new Set([...slices.values()].map((service) => `default/${service}`)),
      );
    }),
  );
});
