import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { UrlFront } from '../../harness/network/tcp-front.ts';
import { explainOne } from '../../src/admin/explain/explained-service.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { connected, lose } from '../support/wrapper/outage.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { PATHS } from '../support/wrapper/state-fixture.ts';
import { useCluster, useFront, useWrapper } from '../support/wrapper/use.ts';

let server: ApiServer;
let front: UrlFront;
let proxy: NodeProxy;

/** A Service with two slices, so that their order can change. */
beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  putSlice(server, 'web-2', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  front = await useFront(await server.listen());
  proxy = await useWrapper(front.url);
  for (const path of [PATHS.slices, PATHS.services]) await fetch(proxy.url + path);
  await connected(proxy);
});

const since = async () => Date.parse(`${(await explainOne(proxy, 'default/web')).since}`);

/** Cuts the wrapper off, changes the cluster meanwhile, and waits until it is connected again. */
async function outage(change: () => void): Promise<void> {
  const lost = await lose(proxy, front);
  change();
  await lost.end();
  await connected(proxy);
}

async function expectSame(change: () => void): Promise<void> {
  // It comes from two clocks, which a busy machine reads at two times.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const begin = Date.now();
  await outage(change);
  expect(await since()).toBeLessThan(begin);
}

test.each<[what: string, change: () => void]>([
  ['an outage without a change', () => {}],
  ['an outage after which everything is listed again', () => server.compact()],
  [
    'a slice that was replaced, so that the slices have another order',
    () => {
      server.delete('endpointslices', 'default/web-1');
      putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
    },
  ],
  [
    'labels of this node that change and change back',
    () => {
      server.label('edge-1', 'site', 'b');
      server.label('edge-1', 'site', 'a');
    },
  ],
  [
    'a Service that was deleted and created again',
    () => {
      server.delete('services', 'default/web');
      putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
    },
  ],
])('the time of a decision does not start anew with %s', async (_what, change) => {
  await expectSame(change);
});

/*
 * A slice that changes moves behind its siblings. The answer of a Service was compared with the ports in the order of
 * its slices, so each change of one slice counted as another answer.
 */
test('nor with a changed slice of a Service whose slices have different ports', async () => {
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'web-1',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'web' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'metrics', protocol: 'TCP', port: 9090 }],
  };
  const endpoints = [{ addresses: ['10.0.0.1'], nodeName: 'edge-1' }];
  server.update('endpointslices', { ...slice, endpoints });
  const both = [
    { name: 'http', port: 80 },
    { name: 'metrics', port: 9090 },
  ];
  server.patch('services', 'web', { spec: { ports: both } });
  const ports = async () => (await explainOne(proxy, 'default/web')).ports.length;
  await eventually(ports, 2);
  await expectSame(() => {
    putSlice(server, 'web-2', 'web', [
      { ip: '10.0.0.2', node: 'edge-2' },
      { ip: '10.0.0.3', node: 'edge-3' },
    ]);
  });
  expect((await explainOne(proxy, 'default/web')).counts.total).toBe(3);
});
