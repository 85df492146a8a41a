import { describe, expect, test } from '@jest/globals';
import { clusterOf } from '../../demo/cluster.ts';
import { placeLabels, type UsedKeys } from '../../demo/place-labels.ts';
import { createApiServer } from '../../embedded/api-server.ts';

/** Policies that use these keys, each by so many Services. */
function uses(keys: Readonly<Record<string, number>>): UsedKeys {
  return {
    keysInUse: () => Object.keys(keys)[Symbol.iterator](),
    usersOf: (key) => new Set(Array.from({ length: keys[key] ?? 0 }, (_, index) => String(index))),
  };
}

// The bar once grouped and moved nodes by the label `site` only, whatever the cluster had.
describe('nodes are grouped and moved by the labels', () => {
  const zone = 'topology.kubernetes.io/zone';
  const nodes: { readonly labels: Record<string, string> }[] = [
    { labels: { 'kubernetes.io/hostname': 'a', rack: '1', [zone]: 'x' } },
    { labels: { 'kubernetes.io/hostname': 'b', row: '2' } },
  ];

  test('that policies use and nodes have, the most used first, and then by the usual ones', () => {
    const used = uses({ 'kubernetes.io/hostname': 9, row: 1, rack: 3, absent: 5, '*': 7 });
    expect(placeLabels(used, nodes)).toEqual(['rack', 'row', zone]);
    const equal = uses({ row: 1, rack: 1 });
    expect(placeLabels(equal, nodes)).toEqual(['rack', 'row', zone]);
  });

  test('that are usual, without policies', () => {
    expect(placeLabels(uses({}), nodes)).toEqual([zone]);
    expect(placeLabels(uses({}), [])).toEqual(['site']);
  });

  test('of which there are not too many', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`key-${index}`, 1]));
    const labels = Object.fromEntries(Object.keys(many).map((key) => [key, 'x']));
    expect(placeLabels(uses(many), [{ labels }])).toHaveLength(8);
  });
});

test('the bar of a big cluster has the node of the page and a bounded number of others', () => {
  const server = createApiServer();
  for (let index = 0; index < 500; index++) {
    server.create('nodes', { metadata: { name: `n-${String(index).padStart(3, '0')}` } } as never);
  }
  const { nodes, moreNodes } = clusterOf(server, uses({}), { node: 'n-321', service: '' });
  expect([nodes.length, moreNodes, nodes[0]?.name]).toEqual([60, 440, 'n-321']);
  expect(new Set(nodes.map(({ name }) => name)).size).toBe(60);
});

test('the bar gets the policy of the open Service only', () => {
  const server = createApiServer();
  const annotations = { topologyKeys: '["site"]' };
  for (const name of ['web', 'db']) {
    server.create('services', { metadata: { name, namespace: 'a', annotations } } as never);
  }
  const about = (service: string) => clusterOf(server, uses({}), { node: '', service });
  const none = { nodes: [], moreNodes: 0, labels: ['site'] };
  expect(about('a/web')).toEqual({ ...none, service: 'a/web', policy: '["site"]' });
  expect(about('a/none')).toEqual(none);
  expect(about('')).toEqual(none);
});
