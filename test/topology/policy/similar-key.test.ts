import { expect, test } from '@jest/globals';
import { similarKey } from '../../../src/topology/policy/similar-key.ts';

test.each([
  ['topology.kubernetes.io/zon', 'topology.kubernetes.io/zone'],
  ['topolgy.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['topology.kubernetes.io/regoin', 'topology.kubernetes.io/region'],
  ['kubernetes.io/hostnam', 'kubernetes.io/hostname'],
  ['topology.kubernetes.io/hostname', 'kubernetes.io/hostname'],
  ['kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['apps.openyurt.io/nodepol', 'apps.openyurt.io/nodepool'],
])('%s is similar to %s', (key, expected) => {
  expect(similarKey(key)).toBe(expected);
});

test.each([
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.kubernetes.io/rack',
  'example.com/zone',
  'site',
  'zone',
])('%s is similar to no well-known label', (key) => {
  expect(similarKey(key)).toBeUndefined();
});
