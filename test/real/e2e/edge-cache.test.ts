import { readFileSync } from 'node:fs';
import { beforeAll, jest, test } from '@jest/globals';
import {
  createNamespace,
  createNode,
  createService,
  deleteSlice,
  labelNode,
} from '../../../harness/api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { EdgeCache } from '../../../harness/edge-cache/edge-cache.ts';
import { putSlice } from '../../../harness/node/placed-service.ts';
import {
  startWrappedNode,
  type WrappedNode,
  waitForBackends,
} from '../../../harness/node/wrapped-node.ts';
import { poll } from '../../../harness/poll.ts';
import { closedLater, stoppedLater } from '../../support/closed-later.ts';

/*
 * A wrapper and a stock kube-proxy whose only upstream is an emulator of KubeEdge's MetaServer, a cache. It has JSON
 * over plain http, no bookmarks, no streaming list, and during an outage old data without a word.
 */
jest.setTimeout(600_000);

const MODE = 'nftables';
const CLUSTER_IP = '10.96.202.7';
const TARGET = `${CLUSTER_IP}:80`;
const NEAR = '10.244.7.5:8080';
const MOVED = '10.244.7.7:8080';
const LAST = '10.244.7.8:8080';
const FAR = '10.244.7.6:8080';
const namespace = 'edge-cache';

let plane: ControlPlane;
let cache: EdgeCache;
let node: WrappedNode;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
  await createNamespace(plane.admin, namespace);
  await createNode(plane.admin, 'near', { site: 'a' });
  await createNode(plane.admin, 'far', { site: 'b' });
  await put('web-near', 'near', NEAR);
  await put('web-far', 'far', FAR);
  await createService(plane.admin, {
    name: 'web',
    namespace,
    annotations: { topologyKeys: '["site"]' },
    ports: [{ port: 80 }],
    spec: { clusterIP: CLUSTER_IP },
  });
  const ca = readFileSync(plane.caFile);
  cache = closedLater(new EdgeCache({ upstream: plane.server, ca, token: plane.tokens.admin }));
  node = stoppedLater(
    await startWrappedNode({
      plane,
      nodeName: 'here',
      labels: { site: 'a' },
      openUpstream: async (netns) => {
        const { port } = new URL(await cache.listen(netns.hostAddress));
        // Where MetaServer listens.
        await netns.relay('127.0.0.1:10550', `${netns.hostAddress}:${port}`);
        return 'http://127.0.0.1:10550';
      },
    }),
  );
  await node.startKubeProxy({ mode: MODE });
});

const put = async (name: string, nodeName: string, at: string) =>
  await putSlice(plane.admin, { name, namespace, service: 'web' }, [{ at, node: nodeName }]);

/**
 * While the wrapper restarts, each informer of kube-proxy waits longer and longer for it, up to half a minute. What was
 * deleted in the outage is gone with the next list, half a minute after the last one.
 */
const hasBackends = async (...backends: string[]) =>
  await waitForBackends(node.netns, MODE, { [TARGET]: backends }, 90_000);

/** What the wrapper shows to kube-proxy, whenever that reads it. */
async function shown(): Promise<string> {
  const query = 'labelSelector=!service.kubernetes.io/headless';
  const url = `${node.wrapper().url}/apis/discovery.k8s.io/v1/endpointslices?${query}`;
  return (await node.netns.httpGet(url))?.body ?? '';
}

/** The line of the status about the data. */
async function dataLine(): Promise<string> {
  const answer = await node.netns.httpGet(`${node.wrapper().adminUrl}/status`);
  const { lines } = JSON.parse(answer?.body ?? '{"lines":[]}') as { lines: { id: string }[] };
  return JSON.stringify(lines.find(({ id }) => id === 'data'));
}

const saysOfData = async (text: string) =>
  await poll(dataLine, (line) => line.includes(text), { what: text, timeoutMs: 60_000 });

test('the kernel has the near endpoint, and follows a label', async () => {
  await hasBackends(NEAR);
  await saysOfData('from the cache 127.0.0.1:10550');
  await labelNode(plane.admin, 'far', { site: 'a' });
  await hasBackends(NEAR, FAR);
  await labelNode(plane.admin, 'far', { site: 'b' });
  await hasBackends(NEAR);
});

test('in an outage the kernel keeps its rules while the cache answers with old data, and status says so', async () => {
  cache.disconnect();
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/web-near`;
  await plane.admin.patch(path, {
    endpoints: [{ addresses: ['10.244.7.7'], conditions: { ready: true }, nodeName: 'near' }],
  });
  await deleteSlice(plane.admin, 'web-far', namespace);
  cache.endWatches();
  await saysOfData('a cache answers from its own store');
  await hasBackends(NEAR);
});

test('a wrapper that starts in the outage serves what the cache has', async () => {
  await node.restartWrapper();
  await saysOfData('from the cache 127.0.0.1:10550');
  await hasBackends(NEAR);
});

test('after the outage the kernel follows, and what was deleted meanwhile is gone', async () => {
  cache.connect();
  const [moved = ''] = MOVED.split(':');
  await poll(shown, (body) => body.includes(moved), { what: 'the moved endpoint, shown' });
  await hasBackends(MOVED);
  await labelNode(plane.admin, 'far', { site: 'a' });
  await put('web-last', 'far', LAST);
  await hasBackends(MOVED, LAST);
});
