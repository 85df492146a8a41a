import { expect, test } from '@jest/globals';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import { kubernetesTarget } from '../../../src/admin/status/kubernetes-target.ts';
import { addressText } from '../../../src/util/address.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

type Endpoint = readonly [address: string, state: 'ready' | 'serving' | 'notReady'];

/** A slice of default/kubernetes. */
function slice(name: string, addressType: string, port: number, endpoints: readonly Endpoint[]) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'kubernetes' },
    },
    addressType,
    endpoints: endpoints.map(([address, state]) => ({
      addresses: [address],
      conditions: {
        ready: state === 'ready',
        serving: state !== 'notReady',
        terminating: state === 'serving',
      },
    })),
    ports: [
      { name: 'other', protocol: 'TCP', port: 1 },
      { name: 'https', protocol: 'TCP', port },
    ],
  };
}

/** The target of a cluster in which default/kubernetes has these addresses and slices. */
async function targetOf(clusterIPs: readonly string[], slices: readonly object[]) {
  const server = useCluster();
  server.create('services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes', namespace: 'default' },
    spec: {
      clusterIP: clusterIPs[0],
      clusterIPs,
      type: 'ClusterIP',
      ports: [{ name: 'https', protocol: 'TCP', port: 443 }],
    },
  });
  for (const object of slices) server.create('endpointslices', object as never);
  const proxy = await useWrapper(await server.listen());
  for (const path of ['/apis/discovery.k8s.io/v1/endpointslices', '/api/v1/services']) {
    const watch = await useWatch(proxy.url + path, STREAMING_LIST);
    await watch.until(1);
  }
  return kubernetesTarget(proxy);
}

const V4 = '10.96.0.1';
const V6 = 'fd00::1';

test.each<[rule: string, clusterIPs: string[], slices: object[], backends: string[]]>([
  [
    'the ready endpoints of all slices, each once, at their port',
    [V4],
    [
      slice('a', 'IPv4', 6443, [
        ['10.0.0.1', 'ready'],
        ['10.0.0.2', 'notReady'],
      ]),
      slice('b', 'IPv4', 6444, [
        ['10.0.0.3', 'ready'],
        ['10.0.0.4', 'serving'],
      ]),
      slice('c', 'IPv4', 6443, [['10.0.0.1', 'ready']]),
    ],
    ['10.0.0.1:6443', '10.0.0.3:6444'],
  ],
  [
    'those that are serving while they terminate, if none is ready',
    [V4],
    [
      slice('a', 'IPv4', 6443, [
        ['10.0.0.1', 'notReady'],
        ['10.0.0.2', 'serving'],
      ]),
    ],
    ['10.0.0.2:6443'],
  ],
  [
    'those of the family of the first ClusterIP',
    [V6, V4],
    [
      slice('a', 'IPv4', 6443, [['10.0.0.1', 'ready']]),
      slice('b', 'IPv6', 6443, [['fd00::2', 'ready']]),
    ],
    ['[fd00::2]:6443'],
  ],
])('the backends are %s', async (_, clusterIPs, slices, backends) => {
  const target = await targetOf(clusterIPs, slices);
  expect(target.clusterIp).toEqual({ host: clusterIPs[0], port: 443 });
  expect(target.backends.map(addressText)).toEqual(backends);
});
