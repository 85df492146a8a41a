import { describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import { parseTopologyKeys } from '../../../src/topology/policy/topology-keys.ts';

describe('parseTopologyKeys()', () => {
  test('accepts label keys in order, with "*" last', () => {
    expect(parseTopologyKeys('["kubernetes.io/hostname","site","*"]')).toEqual([
      'kubernetes.io/hostname',
      'site',
      '*',
    ]);
  });

  test.each([
    ['not JSON', 'kubernetes.io/hostname', /is not JSON.*\["kubernetes\.io\/hostname","\*"\]/],
    ['cut short', '["a"', /is not JSON/],
    ['an object', '{"a":1}', /is not an array of strings/],
    ['a string', '"site"', /is not an array of strings/],
    ['an array of numbers', '[1]', /is not an array of strings/],
    ['a duplicate', '["site","site"]', /names "site" twice/],
    ['"*" before others', '["*","site"]', /has to be the last/],
    [
      'a key that is not a label key',
      '["a b"]',
      /holds "a b", which is neither a node label key nor/,
    ],
    ['an empty key', '[""]', /holds "", which is neither a node label key nor/],
    ['an upper case prefix', '["Example.org/site"]', /neither a node label key nor/],
    ['a name that is too long', `["${'a'.repeat(64)}"]`, /neither a node label key nor/],
    [
      'a key of a later version',
      '["kube-proxy-wrapper.io/moon"]',
      /does not exist; with this prefix there are kube-proxy-wrapper.io\/community/,
    ],
    ['17 keys', JSON.stringify(Array.from({ length: 17 }, (_, i) => `k${i}`)), /17 keys/],
  ])('rejects %s and says why', (_name, annotation, message) => {
    expect(() => parseTopologyKeys(annotation)).toThrow(WrapperError);
    expect(() => parseTopologyKeys(annotation)).toThrow(message);
  });
});
