import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { listNames } from '../../support/policy/policy-cluster.ts';
import { putService } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

/**
 * kube-proxy in nftables mode drops traffic to an address of a ServiceCIDR if none of its Services has the address. So
 * an edge node dropped the traffic to a Service that it hides for the cloud.
 */
const CIDRS = '/apis/networking.k8s.io/v1/servicecidrs';
const PASSTHROUGH = { cloud: { mode: 'passthrough' }, edge: { labelSelector: 'role=edge' } };

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(() => {
  server = useCluster();
  putCidr('kubernetes');
});

function putCidr(name: string): void {
  server.create('servicecidrs', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name },
    spec: { cidrs: ['10.96.0.0/12'] },
  });
}

test('an edge node with cloud passthrough sees no ServiceCIDR while it is an edge node', async () => {
  server.label('edge-1', 'role', 'edge');
  proxy = await useWrapper(await server.listen(), {}, PASSTHROUGH);
  const watch = await useWatch(proxy.url + CIDRS, STREAMING_LIST);
  await watch.until(1);
  expect(watch.names()).toEqual(['BOOKMARK']);
  server.label('edge-1', 'role', null);
  await eventually(() => watch.names().slice(1), ['ADDED kubernetes']);
  server.label('edge-1', 'role', 'edge');
  await eventually(() => watch.names().slice(2), ['DELETED kubernetes']);
  const annotations = { 'kube-proxy-wrapper.io/filter': 'off' };
  server.patch('nodes', 'edge-1', { metadata: { annotations } });
  await eventually(() => watch.names().slice(3), ['ADDED kubernetes']);
});

test('in a dry run an edge node sees all of them, and Services of another proxy too', async () => {
  server.label('edge-1', 'role', 'edge');
  putService(server, 'web', ['kubernetes.io/hostname']);
  server.patch('services', 'web', { metadata: { labels: { mesh: '' } } });
  const serviceFilter = { mode: 'FilterIfLabelExists', label: 'mesh' };
  const settings = { ...PASSTHROUGH, serviceFilter, dryRun: true };
  proxy = await useWrapper(await server.listen(), {}, settings);
  expect(await listNames(proxy.url + CIDRS, 'json')).toEqual(['kubernetes']);
  expect(await listNames(`${proxy.url}/api/v1/services`, 'json')).toContain('web');
});
