import { describe, expect, test } from '@jest/globals';
import { ServicesWithoutZone } from '../../../src/topology/state/without-zone.ts';

describe('ServicesWithoutZone', () => {
  test('has a Service as long as any view reports it', () => {
    const services = new ServicesWithoutZone();
    const [one, other] = [{}, {}];
    const hasWeb = () => services.hasAnyOf(new Set(['web']));
    expect(services.set(one, new Map([['web', true]]))).toBe(true);
    expect(services.set(one, new Map([['web', true]]))).toBe(false);
    services.set(other, new Map([['web', true]]));
    services.set(one, new Map([['web', false]]));
    expect(hasWeb()).toBe(true);
    expect(services.set(other, new Map([['web', false]]))).toBe(true);
    expect(services.set(other, new Map([['web', false]]))).toBe(false);
    expect(hasWeb()).toBe(false);
  });

  test.each([
    [['web'], ['db', 'web', 'x'], true],
    [['web', 'db', 'x'], ['db'], true],
    [['web'], ['db', 'x'], false],
    [[], ['db'], false],
  ])('of %j, any is among %j: %j', (reported, services, expected) => {
    const withoutZone = new ServicesWithoutZone();
    withoutZone.set({}, new Map(reported.map((name) => [name, true] as const)));
    expect(reported.map((name) => withoutZone.has(name))).not.toContain(false);
    expect(withoutZone.has('other')).toBe(false);
    expect(withoutZone.hasAnyOf(new Set(services))).toBe(expected);
  });
});
