import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseVersion, VersionClock } from '../../src/filter/version-clock.ts';

describe('VersionClock', () => {
  test('a version reads as the upstream version followed by nine digits', () => {
    const clock = new VersionClock(420);
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
        const clock = new VersionClock(now);
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
    const before = new VersionClock(1_000_000);
    const after = new VersionClock(1_000_500);
    for (const clock of [before, after]) clock.observe('326');
    const versions = new Set([before.next(), before.next(), after.next(), after.next()]);
    expect(versions.size).toBe(4);
  });

  // A relabel of the own node changed 300 slices under one upstream version. The process that started a
  // second later began with a version from among those 300, and let a client resume from there that had
  // been cut off amid them.
  test('nor do they meet when the earlier one has just made many changes at once', () => {
    const before = new VersionClock(1_000_000);
    const after = new VersionClock(1_000_500);
    for (const clock of [before, after]) clock.observe('326');
    for (let changes = 1; changes < 20_000; changes++) before.next();
    expect(after.next() > before.next()).toBe(true);
  });
});

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
