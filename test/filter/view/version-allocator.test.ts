import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseVersion, VersionAllocator } from '../../../src/filter/view/version-allocator.ts';

describe('VersionClock', () => {
  test('a version reads as the upstream version followed by nine digits', () => {
    const clock = new VersionAllocator(420);
    clock.observe('326');
    expect(String(clock.next())).toBe('326000042000');
    expect(String(clock.next())).toBe('326000042001');
    clock.observe('327');
    expect(String(clock.next())).toBe('327000042000');
  });

  test('rises strictly, whatever the API server says', () => {
    const anyObservations = fc.array(
      fc.oneof(fc.nat().map(String), fc.constantFrom('', 'x', '007')),
    );
    fc.assert(
      fc.property(anyObservations, fc.nat(), (observed, now) => {
        const clock = new VersionAllocator(now);
        let last = -1n;
        for (const version of observed) {
          clock.observe(version);
          const next = clock.next();
          expect(next > last).toBe(true);
          last = next;
        }
      }),
    );
  });

  test('a process that starts later hands out other versions while upstream stands still', () => {
    const before = new VersionAllocator(1_000_000);
    const after = new VersionAllocator(1_000_500);
    for (const clock of [before, after]) clock.observe('326');
    const versions = new Set([before.next(), before.next(), after.next(), after.next()]);
    expect(versions.size).toBe(4);
  });

  // A relabel of the own node changed 300 slices under one upstream version. The process that started a
  // second later began with a version from among those 300, and let a client resume from there that had
  // been cut off amid them.
  test('nor do they meet when the earlier one has just made many changes at once', () => {
    const before = new VersionAllocator(1_000_000);
    const after = new VersionAllocator(1_000_500);
    for (const clock of [before, after]) clock.observe('326');
    for (let changes = 1; changes < 20_000; changes++) before.next();
    expect(after.next() > before.next()).toBe(true);
  });

  test('no two processes give out the same version, whatever each has seen', () => {
    const upstream = fc.integer({ min: 1, max: 5 });
    const changes = fc.array(fc.tuple(upstream, fc.integer({ min: 0, max: 99 })), {
      maxLength: 20,
    });
    // From a millisecond to the time after which the offset comes round, less what the second one counts itself.
    const apartMs = fc.integer({ min: 20, max: 9_999_900 });
    fc.assert(
      fc.property(fc.nat(2 ** 41), apartMs, changes, changes, (now, apart, first, second) => {
        const before = new Set(versionsOf(new VersionAllocator(now), first));
        const after = versionsOf(new VersionAllocator(now + apart), second);
        expect(after.filter((version) => before.has(version))).toEqual([]);
      }),
    );
  });

  // A neighbour that was taken for the last process named a version of 31 digits. Those that followed it had more,
  // and each client that sent one back was refused.
  test('a client can send back each version, whatever the API server says', () => {
    const upstream = fc.oneof(
      fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
      fc.constantFrom(String(2n ** 63n - 1n), String(2n ** 63n), '9'.repeat(31), '9'.repeat(22)),
    );
    fc.assert(
      fc.property(fc.array(upstream), fc.nat(2 ** 41), (observed, now) => {
        const clock = new VersionAllocator(now);
        for (const version of observed) {
          clock.observe(version);
          const next = clock.next();
          expect(parseVersion(String(next))).toBe(next);
          expect(String(next).length).toBeLessThanOrEqual(28);
        }
      }),
    );
  });
});

/** The versions of a process that sees these upstream versions, and makes so many changes under each. */
function versionsOf(clock: VersionAllocator, changes: readonly [number, number][]): bigint[] {
  return changes.flatMap(([upstream, count]) => {
    clock.observe(String(upstream));
    return Array.from({ length: count }, () => clock.next());
  });
}

describe('parseVersion()', () => {
  test.each([
    ['0', 0n],
    ['326', 326n],
    ['18446744073709551616', 18446744073709551616n],
  ])('reads %s', (text, version) => {
    expect(parseVersion(text)).toBe(version);
  });

  test.each(['', '-1', '01', '1.0', '0x1', ' 1', '1'.repeat(40)])('refuses %p', (text) => {
    expect(parseVersion(text)).toBeUndefined();
  });
});
