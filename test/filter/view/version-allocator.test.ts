import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseVersion, VersionAllocator } from '../../../src/filter/view/version-allocator.ts';

describe('VersionAllocator', () => {
  test('a version reads as the upstream version followed by nine digits', () => {
    const allocator = new VersionAllocator(420);
    allocator.observe('326');
    expect(String(allocator.next())).toBe('326000042000');
    expect(String(allocator.next())).toBe('326000042001');
    allocator.observe('327');
    expect(String(allocator.next())).toBe('327000042000');
  });

  test('two processes never allocate the same version, whatever each has observed', () => {
    const upstream = fc.integer({ min: 1, max: 5 });
    const changes = fc.array(fc.tuple(upstream, fc.integer({ min: 0, max: 99 })), {
      maxLength: 20,
      size: 'max',
    });
    // A regression: a label change made 300 changes under one version, and a process that started a second later began
    // with one of these. From some milliseconds up to the time after which the offset wraps around, minus the second
    // one's own changes.
    const apartMs = fc.integer({ min: 20, max: 4_999_900 });
    fc.assert(
      fc.property(fc.nat(2 ** 41), apartMs, changes, changes, (now, apart, first, second) => {
        const before = new Set(versionsOf(new VersionAllocator(now), first));
        const after = versionsOf(new VersionAllocator(now + apart), second);
        expect(after.filter((version) => before.has(version))).toEqual([]);
      }),
    );
  });

  // A regression: a version of 31 digits was observed. The versions made from it had more digits, and each client
  // that sent one back was refused.
  test('versions rise, and parseVersion() accepts each, whatever versions the API server sends', () => {
    const upstream = fc.oneof(
      fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
      fc.constantFrom(String(2n ** 63n - 1n), String(2n ** 63n), '9'.repeat(31), '', 'x', '007'),
    );
    fc.assert(
      fc.property(fc.array(upstream), fc.nat(2 ** 41), (observed, now) => {
        const allocator = new VersionAllocator(now);
        let last = -1n;
        for (const version of observed) {
          allocator.observe(version);
          const next = allocator.next();
          expect(next > last).toBe(true);
          expect(parseVersion(String(next))).toBe(next);
          expect(String(next).length).toBeLessThanOrEqual(28);
          last = next;
        }
      }),
    );
  });
});

/** The versions of a process that observes these upstream versions and makes that many changes under each. */
function versionsOf(allocator: VersionAllocator, changes: readonly [number, number][]): bigint[] {
  return changes.flatMap(([upstream, count]) => {
    allocator.observe(String(upstream));
    return Array.from({ length: count }, () => allocator.next());
  });
}

// Versions only rise: after such a one no change of the API server would be seen in them.
test('a version that is no revision of etcd changes nothing', () => {
  const allocator = new VersionAllocator(420);
  for (const version of [String(2n ** 63n), '9'.repeat(19), '1'.repeat(31)])
    allocator.observe(version);
  expect(String(allocator.next())).toBe('42000');
  allocator.observe(String(2n ** 63n - 1n));
  expect(String(allocator.next())).toBe(`${2n ** 63n - 1n}000042000`);
});

describe('parseVersion()', () => {
  test.each(['', '-1', '01', '1.0', '0x1', ' 1', '1'.repeat(40)])('refuses %p', (text) => {
    expect(parseVersion(text)).toBeUndefined();
  });
});
