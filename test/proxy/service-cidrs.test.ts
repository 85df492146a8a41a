import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { createSmallCluster } from '../support/small-cluster.ts';
import { recordWatch, STREAMING_LIST } from '../support/watch-recorder.ts';
import { startWrapper } from '../support/wrapper-fixture.ts';

/**
 * kube-proxy in nftables mode drops what goes to an address in a ServiceCIDR that no Service it knows has. A
 * Service that an edge node hides, so that the cloud serves it, was a black hole there.
 */
const CIDRS = '/apis/networking.k8s.io/v1/servicecidrs';
const PASSTHROUGH = { cloud: { mode: 'passthrough' }, edge: { labelSelector: 'role=edge' } };

let server: ApiServer;
let proxy: NodeProxy | undefined;

beforeEach(() => {
  server = createSmallCluster();
  server.create('servicecidrs', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.96.0.0/12'] },
  });
});

afterEach(async () => {
  await proxy?.close();
  await server.close();
});

test('an edge node that leaves addresses to the cloud is shown no ServiceCIDR, as long as it is one', async () => {
  server.label('edge-1', 'role', 'edge');
  proxy = await startWrapper(await server.listen(), {}, PASSTHROUGH);
  const watch = await recordWatch(proxy.url + CIDRS, STREAMING_LIST);
  await watch.until(1);
  expect(watch.names()).toEqual(['BOOKMARK']);
  server.label('edge-1', 'role', null);
  await eventually(() => watch.names().slice(1), ['ADDED kubernetes']);
  server.label('edge-1', 'role', 'edge');
  await eventually(() => watch.names().slice(2), ['DELETED kubernetes']);
  const annotations = { 'kube-proxy-wrapper.io/filter': 'off' };
  server.patch('nodes', 'edge-1', { metadata: { annotations } });
  await eventually(() => watch.names().slice(3), ['ADDED kubernetes']);
  watch.close();
});

test('any other node is shown all of them', async () => {
  proxy = await startWrapper(await server.listen(), {}, PASSTHROUGH);
  const watch = await recordWatch(proxy.url + CIDRS, STREAMING_LIST);
  await watch.until(2);
  expect(watch.names()).toEqual(['ADDED kubernetes', 'BOOKMARK']);
  watch.close();
});
