import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { addressNumber } from '../../../src/filter/objects/address-number.ts';

describe('addressNumber()', () => {
  test.each([
    ['10.0.0.1', '010.000.0.01'],
    ['fd00::1', 'FD00:0:0::1'],
    ['fd00::1', 'fd00:0:0:0:0:0:0:0001'],
    ['::', '0:0:0:0:0:0:0:0'],
    ['1::', '1:0:0:0:0:0:0:0'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
  ])('%s and %s are one address', (one, other) => {
    expect(addressNumber(one)).toBe(addressNumber(other));
  });

  test('an IPv4 address is its own number', () => {
    expect(addressNumber('10.0.0.1')).toBe(0x0a000001);
    expect(addressNumber('255.255.255.255')).toBe(-1);
  });

  test('any two addresses, and texts that are none, have different numbers', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    const near = fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 8, maxLength: 8 });
    const ipv6 = fc
      .oneof(groups, near)
      .map((all) => all.map((each) => each.toString(16)).join(':'));
    const others = fc.constantFrom(
      '',
      ':',
      ':::',
      '1:2',
      '1::2::3',
      '1:2:3:4:5:6:7:8:9',
      '1:2:3:4:5:6:7::8',
      '12345::',
      '::g',
      '1:',
      '::1.2.3',
      '10.0.0',
      '10.0.0.256',
      '10..0.1',
      '10.0.0.1.',
      'web.example.org',
    );
    const addresses = fc.uniqueArray(fc.oneof(fc.ipV4(), ipv6, others), { maxLength: 100 });
    fc.assert(
      fc.property(addresses, (all) => {
        expect(new Set(all.map(addressNumber)).size).toBe(all.length);
      }),
    );
  });
});
