import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { VersionAllocator } from '../../src/filter/view/version-allocator.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { toClientRecords } from '../support/recorder/read-records.ts';

const MINUTE_MS = 60_000;
const YEAR_2100 = Date.UTC(2100);

test('the process that gave an answer is known by its versions, at any hour of the day', () => {
  const cases = fc.record({
    first: fc.integer({ min: 0, max: YEAR_2100 }),
    second: fc.integer({ min: 10, max: 30 * MINUTE_MS }),
    upstream: fc.integer({ min: 1, max: 1_000_000 }),
    changes: fc.integer({ min: 1, max: 20 }),
  });
  fc.assert(
    fc.property(cases, ({ first, second, upstream, changes }) => {
      const starts = [first, first + second];
      // Both may have answered now: the first one ends as the second one starts.
      const generations = [
        { log: '0', start: starts[0] as number, end: starts[1] },
        { log: '1', start: starts[1] as number, end: undefined },
      ];
      const answered = first + second + 1;
      const read = starts.map((start) => {
        const versions = new VersionAllocator(start);
        versions.observe(String(upstream));
        for (let change = 1; change < changes; change++) versions.next();
        const version = String(versions.next());
        return toClientRecords([{ kind: 'list', version, items: [], answered }], generations);
      });
      expect(read.map(([list]) => (list?.kind === 'list' ? list.log : ''))).toEqual(['0', '1']);
    }),
    { numRuns: propertyRuns(1000) },
  );
});
