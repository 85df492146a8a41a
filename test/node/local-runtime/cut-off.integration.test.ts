import { beforeEach, describe, expect, test } from '@jest/globals';
import { formatExplained } from '../../../cli/node/explain-text.ts';
import type { ApiServer, ApiServerOptions } from '../../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import { explainOne } from '../../../src/admin/explain/explained-service.ts';
import { nodeDetails } from '../../../src/admin/page/node-details.ts';
import { NodeReader } from '../../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { closedLater } from '../../support/closed-later.ts';
import { addressesIn } from '../../support/codec/addresses-in.ts';
import { eventually } from '../../support/eventually.ts';
import { FOREIGN_ANSWERS } from '../../support/http/foreign-answers.ts';
import { startPortal } from '../../support/http/portal.ts';
import { CriServer } from '../../support/local-runtime/cri-server.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import {
  checksOf,
  metricsOf,
  PATHS,
  problemsOf,
  shownBy,
  useState,
} from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

let cri: CriServer;
let server: ApiServer;
let url: string;
let state: NonNullable<NodeProxyOptions['state']>;

const LOCAL = { node: 'edge-1', pod: 'web' };
const FAR = { ip: '10.2.0.9', node: 'edge-3', pod: 'far' };

beforeEach(async () => {
  cri = closedLater(await new CriServer().listen());
  closedLater({ close: () => expect(cri.connections).toBe(0) });
  cri.sandboxes = [{ id: 's1', pod: 'web', addresses: ['10.1.0.2'] }];
  state = useState();
  server = createCluster();
  url = await server.listen();
});

function createCluster(options: ApiServerOptions = {}): ApiServer {
  const cluster = useCluster(options);
  putService(cluster, 'web', ['kubernetes.io/hostname', '*']);
  putSlice(cluster, 'web-a', 'web', [{ ip: '10.1.0.2', ...LOCAL }, FAR]);
  return cluster;
}

async function start(options: Partial<NodeProxyOptions> = {}): Promise<NodeProxy> {
  const localRuntime = { socket: cri.path, graceMs: 50, settleMs: 300 };
  return await useWrapper(url, { state, localRuntime, ...options });
}

const listen = async (): Promise<void> => void (await server.listen(Number(new URL(url).port)));

/** What a power cut and the kubelet make of the Pod. */
function restartPod(): void {
  cri.sandboxes = [
    { id: 's1', pod: 'web', ready: false },
    { id: 's2', pod: 'web', attempt: 1, addresses: ['10.1.0.3'] },
  ];
}

/** A first process has written what it shows. Then the link and the power are gone, and the Pod comes back. */
async function cutPower(): Promise<void> {
  const first = await start();
  await addresses(first);
  await first.close();
  await server.close();
  restartPod();
}

async function addresses(proxy: NodeProxy): Promise<string[]> {
  const shown = await shownBy(proxy, PATHS.slices);
  return [...shown.values()].flatMap((bytes) => addressesIn(bytes));
}

describe('a node that is cut off', () => {
  test('shows the address that the Pod has now, and after the return what the API server says', async () => {
    const proxy = await start({ localRuntime: { socket: cri.path, graceMs: 50 } });
    const watch = await useWatch(proxy.url + PATHS.slices, STREAMING_LIST);
    await watch.until(2);
    await server.close();
    restartPod();
    await watch.until(3);
    expect(await addresses(proxy)).toEqual(['10.1.0.3']);
    putSlice(server, 'web-a', 'web', [{ ip: '10.1.0.4', ...LOCAL }, FAR]);
    await listen();
    await watch.until(4);
    expect(await addresses(proxy)).toEqual(['10.1.0.4']);
    expect(watch.names()).toEqual(['ADDED web-a', 'BOOKMARK', 'MODIFIED web-a', 'MODIFIED web-a']);
  });
});

// An error and a success. end-of-response.test.ts tells all kinds from answers of an API server.
describe.each(['404 text', '200 HTML'] as const)('a start from disk behind %s', (name) => {
  const answer = FOREIGN_ANSWERS[name];

  test('shows the address that the Pod has now soon, and soon what the API server says', async () => {
    await server.close();
    server = createCluster({ tls: undefined });
    url = await server.listen();
    await cutPower();
    const portal = await startPortal(Number(new URL(url).port), answer);
    try {
      const begin = performance.now();
      // The time limits are those of the program.
      const proxy = await start({
        state: { ...state, graceMs: 1_000 },
        localRuntime: { socket: cri.path },
      });
      await eventually(() => addresses(proxy), ['10.1.0.3']);
      expect(performance.now() - begin).toBeLessThan(9_000);
      putSlice(server, 'web-a', 'web', [{ ip: '10.1.0.4', ...LOCAL }, FAR]);
      await portal.close();
      await listen();
      const back = performance.now();
      await eventually(() => addresses(proxy), ['10.1.0.4']);
      expect(performance.now() - back).toBeLessThan(9_000);
    } finally {
      await portal.close();
    }
  });
});

describe('what was corrected', () => {
  test('is in explain, in /readyz, in the metrics and on the page', async () => {
    const proxy = await start();
    await addresses(proxy);
    await server.close();
    restartPod();
    await eventually(() => addresses(proxy), ['10.1.0.3']);
    const explained = await explainOne(proxy, 'default/web');
    const corrected = {
      object: 'web-a',
      pod: 'default/web',
      since: expect.any(Number),
      from: { address: '10.1.0.2', state: 'ready' },
      to: { address: '10.1.0.3', state: 'ready' },
    };
    expect(explained.corrected).toEqual([corrected]);
    expect(formatExplained(explained)).toMatch(
      /Corrected from the container runtime:\n.*\n +default\/web +web-a +10\.1\.0\.2 ready +10\.1\.0\.3 ready/,
    );
    const check = checksOf(proxy).find(({ name }) => name === 'local-runtime');
    expect(check).toEqual({
      name: 'local-runtime',
      problem: undefined,
      degraded: undefined,
      remark: expect.stringMatching(
        /^but 1 endpoints of this node are corrected from the container runtime, the first since 20/,
      ),
    });
    expect(nodeDetails(new NodeReader(proxy)).localRuntime).toEqual({
      state: 'cutOff',
      corrected: [corrected],
      count: 1,
    });
    const metrics = await metricsOf(proxy);
    expect(metrics).toMatch(/^kube_proxy_wrapper_local_runtime_corrected_endpoints\{.*\} 1$/m);
    expect(metrics).toContain('\nkube_proxy_wrapper_local_runtime_up 1\n');
  });

  test('a runtime that cannot be read is in /readyz and in the metrics, and the node stays ready', async () => {
    await cri.stop();
    const proxy = await start();
    await addresses(proxy);
    const degraded = () => checksOf(proxy).find(({ name }) => name === 'local-runtime')?.degraded;
    await eventually(() => degraded()?.includes(`the container runtime at ${cri.path}`), true);
    await eventually(() => problemsOf(proxy), []);
    const metrics = await metricsOf(proxy);
    expect(metrics).toContain('\nkube_proxy_wrapper_local_runtime_up 0\n');
    expect(metrics).toMatch(/\nkube_proxy_wrapper_local_runtime_failures_total [1-9]/);
    expect((await explainOne(proxy, 'default/web')).corrected).toBeUndefined();
  });
});
