import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { EndpointIndex } from '../../../src/filter/projection/endpoint-index.ts';
import { sliceChange } from '../../support/projection/slice-change.ts';

const NODES = ['a', 'b', 'c'];
const SERVICES = ['web', 'db'];
const step = fc.record({
  name: fc.constantFrom('s0', 's1', 's2', 's3'),
  service: fc.constantFrom(...SERVICES),
  /** Undefined: the slice is removed. */
  nodes: fc.option(fc.array(fc.constantFrom(...NODES), { maxLength: 3 }), { nil: undefined }),
});

test('the index has the Services with an endpoint on a node, after any history of their slices', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30, size: 'max' }), (history) => {
      const index = new EndpointIndex();
      const slices = new Map<string, { readonly service: string; readonly nodes: string[] }>();
      for (const { name, service, nodes } of history) {
        const before = index.get(`default/${name}`);
        if (before !== undefined) index.remove(before);
        slices.delete(name);
        if (nodes === undefined) continue;
        const endpoints = nodes.map((node) => ({ ip: '10.0.0.1', node }));
        const change = sliceChange(CODECS.protobuf, { name, service, endpoints });
        if (change.type === 'DELETED') continue;
        const traits = { selected: true, ofOtherProxy: false };
        index.add(change.key, change.facts, change.object, traits);
        slices.set(name, { service, nodes });
      }
      const all = [...slices.values()];
      for (const node of NODES) {
        const expected = all.filter(({ nodes }) => nodes.includes(node));
        const names = new Set(expected.map(({ service }) => `default/${service}`));
        expect(new Set(index.servicesOn(node))).toEqual(names);
      }
      for (const service of SERVICES) {
        const own = [...slices].filter(([, slice]) => slice.service === service);
        const keys = index.ofService(`default/${service}`).map(({ key }) => key);
        // In the order of their keys: of two copies the first one counts, whatever came first.
        expect(keys).toEqual(own.map(([name]) => `default/${name}`).sort());
      }
      expect(new Set(index.services())).toEqual(
        new Set(all.map(({ service }) => `default/${service}`)),
      );
    }),
  );
});
