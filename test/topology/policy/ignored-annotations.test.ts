import { describe, expect, test } from '@jest/globals';
import { ignoredAnnotations } from '../../../src/topology/policy/ignored-annotations.ts';

const PREFIXED = 'kube-proxy-wrapper.io/topology-keys';

function ignored(annotations: Readonly<Record<string, string>>): readonly string[] {
  return ignoredAnnotations(new Map(Object.entries(annotations))) ?? [];
}

describe('ignoredAnnotations()', () => {
  test.each([
    ['topologykeys', 'topologyKeys'],
    ['topology_keys', 'topologyKeys'],
    ['topolgyKeys', 'topologyKeys'],
    ['kube-proxy-wrapper.io/topologyKeys', PREFIXED],
    ['kube-proxy-wraper.io/topology-keys', PREFIXED],
    ['kube-proxy-wrapper.io/filters', 'kube-proxy-wrapper.io/filter'],
    ['kube-proxy-wrapper.io/minReady', 'kube-proxy-wrapper.io/min-ready'],
  ])('the name %s is reported with the name that was meant', (name, meant) => {
    expect(ignored({ [name]: 'x' })).toEqual([
      `the annotation "${name}" has no effect; did you mean ${meant}?`,
    ]);
  });

  test('an unknown name under the own prefix is reported with all names', () => {
    expect(ignored({ 'kube-proxy-wrapper.io/weight': '1' })).toEqual([
      expect.stringMatching(/did you mean one of .*topology-keys, .*filter, .*min-ready\?$/),
    ]);
  });

  test('a removed name is reported with what to use instead', () => {
    expect(ignored({ 'kube-proxy-wrapper.io/return-delay': '30s' })).toEqual([
      'the annotation "kube-proxy-wrapper.io/return-delay" has no effect; it was removed: use successThreshold of the readiness probe, and kube-proxy-wrapper.io/min-ready',
    ]);
  });

  test.each([
    'topologyKeys',
    PREFIXED,
    'kube-proxy-wrapper.io/filter',
    'openyurt.io/topologyKeys',
    'example.com/topology-keys',
    'topology',
    'description',
    'endpoints.kubernetes.io/last-change-trigger-time',
    'x'.repeat(10_000),
  ])('the name %.60s is not reported', (name) => {
    expect(ignored({ [name]: 'x' })).toEqual([]);
  });

  // They are kept for each Service and written in one log line, and the owner of a Service can set thousands.
  test('of many names, the first ones are reported and the others are counted', () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `kube-proxy-wrapper.io/x${i}`);
    const found = ignored(Object.fromEntries(names.map((name) => [name, ''])));
    expect(found).toHaveLength(6);
    expect(found[0]).toContain('"kube-proxy-wrapper.io/x0"');
    expect(found[5]).toBe('995 more annotations have no effect');
  });

  test('of two annotations that differ, the one that does not apply is reported', () => {
    expect(ignored({ topologyKeys: '["a"]', [PREFIXED]: '["b"]' })).toEqual([
      `the annotation topologyKeys has no effect, because ${PREFIXED} has another value and applies; remove one of them`,
    ]);
    expect(ignored({ topologyKeys: '["a"]', [PREFIXED]: ' ["a"]\n' })).toEqual([]);
  });
});
