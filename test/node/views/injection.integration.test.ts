import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import type { WatchRecorder } from '../../support/guarantees/watch-recorder.ts';
import {
  listAddresses,
  numbersIn,
  putCommunity,
  putNamespace,
  SLICES_PATH,
} from '../../support/policy/policy-cluster.ts';
import {
  putEndpoints,
  putNode,
  putService,
  putSlice,
  type SmallEndpoint,
} from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

const KEYS = ['kubernetes.io/hostname', 'site', '*'];
const on1: SmallEndpoint = { ip: '10.0.0.1', node: 'edge-1' };
const on2: SmallEndpoint = { ip: '10.0.0.2', node: 'edge-2' };
const on3: SmallEndpoint = { ip: '10.0.0.3', node: 'edge-3' };

/** Each collection and each encoding, of all namespaces and of one. */
const VARIANTS: readonly ['endpointslices' | 'endpoints', string, Encoding][] = [
  ['endpointslices', SLICES_PATH, 'protobuf'],
  ['endpointslices', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', 'json'],
  ['endpoints', '/api/v1/endpoints', 'json'],
  ['endpoints', '/api/v1/namespaces/default/endpoints', 'protobuf'],
];

let server: ApiServer;
let proxy: NodeProxy;
let watch: WatchRecorder;

beforeEach(async () => {
  server = useCluster();
  putNamespace(server, 'default');
  const communities = { fabedgeCluster: 'here', nodeLabels: ['pool'] };
  proxy = await useWrapper(await server.listen(), {}, { namespacePolicies: true, communities });
});

/** A change of the cluster, and the endpoints that are shown then. */
type Step = readonly [change: () => void, shown: readonly SmallEndpoint[]];

describe.each(VARIANTS)('%s at %s in %s', (collection, path, encoding) => {
  /** The Service's endpoints; with slices, the last one is in a slice of its own. */
  function put(...endpoints: SmallEndpoint[]): void {
    if (collection === 'endpoints') {
      putEndpoints(server, 'web', endpoints);
      return;
    }
    putSlice(server, 'web-a', 'web', endpoints.slice(0, -1));
    putSlice(server, 'web-b', 'web', endpoints.slice(-1));
  }

  const followed = () => numbersIn(Buffer.concat([...watch.store().values()]));
  const listed = () => listAddresses(proxy.url + path, encoding);
  const annotate = (keys: string | null) => () => server.annotate('web', 'topologyKeys', keys);
  const label = (node: string, site: string | null) => () => server.label(node, 'site', site);
  const switchTo = (filter: string | null) => () => {
    const annotations = { 'kube-proxy-wrapper.io/filter': filter };
    server.patch('nodes', 'edge-1', { metadata: { annotations } });
  };
  const on4: SmallEndpoint = { ip: '10.0.0.4', node: 'edge-4' };
  const off1 = { ...on1, ready: false };

  test('each change of the cluster is shown by LIST and WATCH', async () => {
    putService(server, 'web', KEYS);
    watch = await useWatch(proxy.url + path, STREAMING_LIST, encoding);
    const steps: Step[] = [
      [() => put(on2, on3), [on2]],
      [label('edge-1', 'b'), [on3]],
      [label('edge-1', null), [on2, on3]],
      [label('edge-1', 'a'), [on2]],
      [label('edge-3', 'a'), [on2, on3]],
      [() => put(on1, on2, on4), [on1]],
      // Readiness moves the winning key, also that of a sibling object.
      [() => put(off1, on2, on4), [on1, on2]],
      [() => putNode(server, 'edge-4', { site: 'a' }), [on1, on2, on4]],
      [() => server.delete('nodes', 'edge-4'), [on1, on2]],
      [() => put(on1, on2, on3), [on1]],
      [switchTo('off'), [on1, on2, on3]],
      [switchTo(null), [on1]],
      [annotate('site'), [on1, on2, on3]],
      [annotate('["kube-proxy-wrapper.io/community"]'), []],
      [() => putCommunity(server, 'one', ['here.edge-1', 'here.edge-2']), [on1, on2]],
      [() => server.label('edge-3', 'pool', 'one'), [on1, on2, on3]],
      [() => server.delete('communities', 'one'), []],
      [annotate(null), [on1, on2, on3]],
      [() => putNamespace(server, 'default', 'prefer-same-node'), [on1]],
      [() => server.delete('namespaces', 'default'), [on1, on2, on3]],
      [annotate('["kubernetes.io/hostname"]'), [on1]],
      [() => server.delete('services', 'web'), [on1, on2, on3]],
    ];
    for (const [change, shown] of steps) {
      change();
      const expected = shown.map(({ ip }) => Number(ip.slice(7)));
      await eventually(followed, expected);
      expect(await listed()).toEqual(expected);
    }
  });
});
