import { expect, test } from '@jest/globals';
import { clusterOf } from '../../demo/cluster.ts';
import { createApiServer } from '../../embedded/api-server.ts';

test('the bar of a big cluster has the node of the page and a bounded number of others', () => {
  const server = createApiServer();
  for (let index = 0; index < 500; index++) {
    server.create('nodes', { metadata: { name: `n-${String(index).padStart(3, '0')}` } } as never);
  }
  const { nodes, moreNodes } = clusterOf(server, { node: 'n-321', service: '' });
  expect([nodes.length, moreNodes, nodes[0]?.name]).toEqual([60, 440, 'n-321']);
  expect(new Set(nodes.map(({ name }) => name)).size).toBe(60);
});

test('the bar gets the policy of the open Service only', () => {
  const server = createApiServer();
  const annotations = { topologyKeys: '["site"]' };
  for (const name of ['web', 'db']) {
    server.create('services', { metadata: { name, namespace: 'a', annotations } } as never);
  }
  const about = (service: string) => clusterOf(server, { node: '', service });
  expect(about('a/web')).toEqual({ nodes: [], moreNodes: 0, service: 'a/web', policy: '["site"]' });
  expect(about('a/none')).toEqual({ nodes: [], moreNodes: 0 });
  expect(about('')).toEqual({ nodes: [], moreNodes: 0 });
});
