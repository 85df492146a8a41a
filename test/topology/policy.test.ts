import { describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../src/errors.ts';
import {
  parseTopologyKeys,
  policyFor,
  type ServiceDescription,
} from '../../src/topology/policy.ts';

const service: ServiceDescription = {
  namespace: 'default',
  name: 'web',
  topologyKeys: undefined,
  headless: false,
  localTraffic: false,
};
const none = { defaultKeys: [], headless: false };
const defaults = { defaultKeys: ['kubernetes.io/hostname', '*'], headless: false };

describe('parseTopologyKeys()', () => {
  test('takes label keys in order, with "*" last', () => {
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
    ['no label key', '["a b"]', /holds "a b", which is no node label key/],
    ['an empty key', '[""]', /holds "", which is no node label key/],
    ['an upper case prefix', '["Example.org/site"]', /is no node label key/],
    ['a name that is too long', `["${'a'.repeat(64)}"]`, /is no node label key/],
    ['a relation of a later version', '["kube-proxy-wrapper.io/moon"]', /does not know/],
    ['17 keys', JSON.stringify(Array.from({ length: 17 }, (_, i) => `k${i}`)), /17 keys/],
  ])('refuses %s and says why', (_name, annotation, message) => {
    expect(() => parseTopologyKeys(annotation)).toThrow(WrapperError);
    expect(() => parseTopologyKeys(annotation)).toThrow(message);
  });
});

describe('policyFor()', () => {
  test.each([
    ['without annotation and default it is left alone', {}, none, 'no-policy'],
    ['headless it is left alone', { topologyKeys: '["*"]', headless: true }, none, 'headless'],
    [
      'with a local traffic policy it is left alone',
      { topologyKeys: '["*"]', localTraffic: true },
      none,
      'local-traffic-policy',
    ],
    [
      'default/kubernetes is left alone by a default',
      { name: 'kubernetes' },
      defaults,
      'kubernetes-service',
    ],
    ['an empty list overrides a default', { topologyKeys: '[]' }, defaults, 'no-policy'],
    ['an invalid annotation leaves it alone', { topologyKeys: '[' }, defaults, 'invalid-policy'],
  ])('%s', (_name, change, settings, reason) => {
    expect(policyFor({ ...service, ...change }, settings)).toMatchObject({
      managed: false,
      reason,
    });
  });

  test('the annotation wins over the default', () => {
    expect(policyFor({ ...service, topologyKeys: '["site"]' }, defaults)).toEqual({
      managed: true,
      keys: ['site'],
      source: 'annotation',
    });
    expect(policyFor(service, defaults)).toEqual({
      managed: true,
      keys: defaults.defaultKeys,
      source: 'default',
    });
  });

  test('default/kubernetes follows its own annotation', () => {
    const annotated = { ...service, name: 'kubernetes', topologyKeys: '["site"]' };
    expect(policyFor(annotated, none)).toMatchObject({ managed: true, keys: ['site'] });
  });

  test('headless Services follow a policy when asked for', () => {
    const headless = { ...service, headless: true, topologyKeys: '["site"]' };
    expect(policyFor(headless, { ...none, headless: true })).toMatchObject({ managed: true });
  });
});
