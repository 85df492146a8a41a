import { expect, test } from '@jest/globals';
import { clusterOf } from '../../demo/cluster.ts';
import { placeLabels, type UsedKeys } from '../../demo/place-labels.ts';
import { createApiServer } from '../../fake-apiserver/api-server.ts';

const ZONE = 'topology.kubernetes.io/zone';

/** Policies that use these keys, each by so many Services. */
function uses(keys: Readonly<Record<string, number>>): UsedKeys {
  return {
    keysInUse: () => Object.keys(keys)[Symbol.iterator](),
    usersOf: (key) => new Set(Array.from({ length: keys[key] ?? 0 }, (_, index) => String(index))),
  };
}

// The bar once grouped and moved nodes by the label `site` only, whatever the cluster had.
test('nodes are grouped and moved by labels that policies use, the most used first, and by the usual ones', () => {
  const nodes = [{ labels: { 'kubernetes.io/hostname': 'a', rack: '1', row: '2', [ZONE]: 'x' } }];
  const used = uses({ 'kubernetes.io/hostname': 9, row: 1, rack: 3, absent: 5, '*': 7 });
  expect(placeLabels(used, nodes)).toEqual(['rack', 'row', ZONE]);
  expect(placeLabels(uses({}), [])).toEqual(['site']);
});

test('the bar of a big cluster has the node of the page and a bounded number of others', () => {
  const server = createApiServer();
  for (let index = 0; index < 500; index++) {
    server.create('nodes', { metadata: { name: `n-${index}` } } as never);
  }
  const { nodes, moreNodes } = clusterOf(server, uses({}), { node: 'n-321', service: '' });
  expect([nodes.length, moreNodes, nodes[0]?.name]).toEqual([60, 440, 'n-321']);
});
