import { expect, test } from '@jest/globals';
import { nearestLabel, similarKey } from '../../../src/topology/policy/similar-key.ts';

test.each([
  ['topolgy.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['topology.kubernetes.io/regoin', 'topology.kubernetes.io/region'],
  ['topology.kubernetes.io/hostname', 'kubernetes.io/hostname'],
  ['kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['apps.openyurt.io/nodepol', 'apps.openyurt.io/nodepool'],
])('%s is similar to %s', (key, expected) => {
  expect(similarKey(key)).toBe(expected);
});

test.each([
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'example.com/zone',
  'zone',
])('%s is similar to no well-known label', (key) => {
  expect(similarKey(key)).toBeUndefined();
});

test.each([
  ['Site', 'site'],
  ['node_pool', 'node-pool'],
])('%s is similar to the label %s of this node', (key, label) => {
  expect(similarKey(key, ['other', label])).toBe(label);
});

// Other nodes may have it.
test('a label of this node that differs in a letter is not similar', () => {
  expect(similarKey('rack', ['track', 'racks', 'example.com/rack'])).toBeUndefined();
});

test.each([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['Site', 'site'],
  ['sites', 'site'],
  ['rack', undefined],
])('of the labels of all nodes, %s was meant to be %s', (key, label) => {
  const labels = [
    'kubernetes.io/os',
    'topology.kubernetes.io/zone',
    'topology.kubernetes.io/region',
  ];
  expect(nearestLabel(key, [...labels, 'site'])).toBe(label);
});
