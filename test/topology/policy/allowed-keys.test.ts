import { describe, expect, test } from '@jest/globals';
import {
  assertAllowedKeys,
  DEFAULT_ALLOWED_KEYS,
  isAllowedKey,
  isKeyPattern,
} from '../../../src/topology/policy/allowed-keys.ts';

describe('the keys that policies may use', () => {
  test.each<[string[], string, boolean]>([
    [['site'], 'site', true],
    [['site'], 'site2', false],
    [['example.com/*'], 'example.com/site', true],
    [['example.com/*'], 'example.org/site', false],
    [['example.com/ra*'], 'example.com/rack', true],
    [['*', '!example.com/*'], 'example.com/site', false],
    [['*', '!example.com/*', 'example.com/site'], 'example.com/site', true],
    [['example.com/site', '!*'], 'example.com/site', false],
    [['!example.com/*'], 'site', false],
    [[], 'site', false],
  ])('%j allow %s: %s', (patterns, key, expected) => {
    expect(isAllowedKey(key, patterns)).toBe(expected);
  });

  test.each([
    '*',
    'kubernetes.io/hostname',
    'kube-proxy-wrapper.io/community',
    'kube-proxy-wrapper.io/cloud',
  ])('always include %s, which is not a label of other nodes', (key) => {
    expect(isAllowedKey(key, [])).toBe(true);
  });

  test.each<[string, boolean]>([
    ['kubernetes.io/os', false],
    ['kubernetes.io/arch', false],
    ['beta.kubernetes.io/os', false],
    ['beta.kubernetes.io/arch', false],
    ['node.kubernetes.io/instance-type', false],
    ['node-role.kubernetes.io/worker', false],
    ['feature.node.kubernetes.io/cpu-cpuid.AVX2', false],
    ['topology.kubernetes.io/zone', true],
    ['topology.kubernetes.io/region', true],
    ['apps.openyurt.io/nodepool', true],
    ['apps.kubeedge.io/belonging-to', true],
    ['cloud.google.com/gke-nodepool', true],
    ['site', true],
  ])('by default, %s: %s', (key, expected) => {
    expect(isAllowedKey(key, DEFAULT_ALLOWED_KEYS)).toBe(expected);
  });

  test('other keys are invalid, and the message names the setting', () => {
    expect(() => assertAllowedKeys(['site', 'kubernetes.io/os'], DEFAULT_ALLOWED_KEYS)).toThrow(
      'topologyKeys holds "kubernetes.io/os", which the setting allowedTopologyKeys does not allow',
    );
    expect(() => assertAllowedKeys(['site', '*'], DEFAULT_ALLOWED_KEYS)).not.toThrow();
  });
});

test.each<[string, boolean]>([
  ['*', true],
  ['!*', true],
  ['site', true],
  ['!example.com/site', true],
  ['example.com/*', true],
  ['example.com/ra-*', true],
  ['exa*', true],
  ['', false],
  ['!', false],
  ['!!site', false],
  ['a b', false],
  ['*site', false],
  ['a*b', false],
  ['example.com/', false],
  ['Example.com/*', false],
])('%j is a pattern of keys: %s', (text, expected) => {
  expect(isKeyPattern(text)).toBe(expected);
});
