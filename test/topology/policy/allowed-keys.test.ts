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

  test.each<[string, boolean]>([
    ['kubernetes.io/os', false],
    ['beta.kubernetes.io/arch', false],
    ['node.kubernetes.io/instance-type', false],
    ['node-role.kubernetes.io/worker', false],
    ['feature.node.kubernetes.io/cpu-cpuid.AVX2', false],
    ['topology.kubernetes.io/zone', true],
    ['apps.openyurt.io/nodepool', true],
    ['site', true],
  ])('by default, %s: %s', (key, expected) => {
    expect(isAllowedKey(key, DEFAULT_ALLOWED_KEYS)).toBe(expected);
  });

  test('always include those that are not labels of other nodes', () => {
    const own = ['kube-proxy-wrapper.io/community', 'kube-proxy-wrapper.io/cloud'];
    const keys = ['*', 'kubernetes.io/hostname', ...own];
    expect(keys.filter((key) => isAllowedKey(key, []))).toEqual(keys);
  });

  test('other keys are invalid, and the message names the setting', () => {
    expect(() => assertAllowedKeys(['site', 'kubernetes.io/os'], DEFAULT_ALLOWED_KEYS)).toThrow(
      'topologyKeys holds "kubernetes.io/os", which the setting allowedTopologyKeys does not allow',
    );
    expect(() => assertAllowedKeys(['site', '*'], DEFAULT_ALLOWED_KEYS)).not.toThrow();
  });
});

test('a pattern is a label key, or the beginning of one and *, with or without !', () => {
  const patterns = ['*', '!*', 'site', '!example.com/site', 'example.com/*', 'example.com/ra-*'];
  expect(patterns.filter((text) => !isKeyPattern(text))).toEqual([]);
  const others = ['', '!', '!!site', 'a b', '*site', 'a*b', 'example.com/', 'Example.com/*'];
  expect(others.filter(isKeyPattern)).toEqual([]);
});
