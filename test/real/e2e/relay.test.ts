import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { dump } from 'js-yaml';
import { createNode } from '../../../harness/api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { makeServingCert } from '../../../harness/api-server/serving-cert.ts';
import { eventually } from '../../../harness/eventually.ts';
import { createPlacedService, setEndpointReady } from '../../../harness/node/placed-service.ts';
import { createRelay, type RelayProcess } from '../../../harness/node/relay.ts';
import {
  startWrappedNode,
  type WrappedNode,
  waitForBackends,
} from '../../../harness/node/wrapped-node.ts';

/*
 * Two relays, a node with a kube-proxy, and a real API server. The tests build on each other: the relays die one after
 * the other, come back, and lose the API server.
 */

jest.setTimeout(240_000);

const [NEAR, FAR] = ['10.244.1.1:80', '10.244.1.2:80'];

let plane: ControlPlane;
let node: WrappedNode;
let relays: readonly [RelayProcess, RelayProcess];
let target: string;

beforeAll(async () => {
  plane = await startControlPlane();
  await createNode(plane.admin, 'edge-2', { site: 'a' });
  await createNode(plane.admin, 'far', { site: 'b' });
  ({ target } = await createPlacedService(
    plane.admin,
    { name: 'web', annotations: { topologyKeys: '["site"]' } },
    [
      { at: NEAR, node: 'edge-2' },
      { at: FAR, node: 'far' },
    ],
  ));
  node = await startWrappedNode({ plane, nodeName: 'edge-1', labels: { site: 'a' }, settings: {} });
  const { hostAddress, folder } = node.netns;
  const cert = await makeServingCert(plane.folder, 'relay', [hostAddress]);
  const options = {
    folder: plane.folder,
    kubeconfig: plane.kubeconfig('wrapper'),
    address: hostAddress,
    cert,
  };
  relays = [await createRelay(options), await createRelay(options)];
  await Promise.all(relays.map((relay) => relay.start()));
  const servers = relays.map(({ url }) => url);
  const settings = { relays: { servers, caFile: cert.certFile } };
  writeFileSync(join(folder, 'settings.yaml'), dump(settings));
  await node.restartWrapper();
  await node.startKubeProxy({ mode: 'iptables', version: '1.36.3' });
  await waitForBackends(node.netns, 'iptables', { [target]: [NEAR] }, 30_000);
});

afterAll(async () => {
  await node?.stop();
  await Promise.all((relays ?? []).map((relay) => relay.stop('SIGKILL')));
  await plane?.stop();
});

async function metrics(): Promise<string> {
  return (await node.netns.httpGet(`${node.wrapper().adminUrl}/metrics`))?.body ?? '';
}

/** The server that is in use, as `host:port`. */
async function server(): Promise<string | undefined> {
  return /upstream_server_in_use\{server="([^"]+)"\} 1/.exec(await metrics())?.[1];
}

async function usesServer(url: string, timeoutMs: number): Promise<number> {
  const { elapsedMs } = await eventually(server, (name) => name === new URL(url).host, {
    timeoutMs,
    what: `the node reads from ${url}`,
  });
  return elapsedMs;
}

/** How often the wrapper has listed slices. */
async function lists(): Promise<number> {
  const lines = (await metrics()).split('\n').filter((line) => /upstream_lists_total/.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Changes the near endpoint 50 times a second, until it is called. It is ready then. */
function churn(): () => Promise<void> {
  let isOver = false;
  const running = (async () => {
    for (let ready = false; !isOver || ready; ready = !ready) {
      await setEndpointReady(plane.admin, 'web', 1, ready);
      await sleep(15);
    }
    await setEndpointReady(plane.admin, 'web', 1, true);
  })();
  return async () => {
    isOver = true;
    await running;
  };
}

test('the node reads from the first relay, and the API server sees one watch of each query', async () => {
  await usesServer(relays[0].url, 10_000);
});

test.each([
  ['first', 'the second', 0],
  ['second', 'the API server', 1],
] as const)(
  'the %s relay is killed: the node goes on at %s within 3 s, without a list',
  async (_died, _next, index) => {
    const before = await lists();
    const endChurn = churn();
    await sleep(1_000);
    await relays[index].stop('SIGKILL');
    await usesServer(index === 0 ? relays[1].url : plane.serverAt(node.netns.hostAddress), 3_000);
    await sleep(1_000);
    await endChurn();
    await setEndpointReady(plane.admin, 'web', 0, false);
    expect(await waitForBackends(node.netns, 'iptables', { [target]: [] }, 3_000)).toBeLessThan(
      3_000,
    );
    await setEndpointReady(plane.admin, 'web', 0, true);
    await waitForBackends(node.netns, 'iptables', { [target]: [NEAR] }, 3_000);
    expect(await lists()).toBe(before);
  },
);

test('the first relay is back: the node returns to it', async () => {
  await relays[0].start();
  await usesServer(relays[0].url, 90_000);
  await setEndpointReady(plane.admin, 'web', 0, false);
  await waitForBackends(node.netns, 'iptables', { [target]: [] }, 10_000);
  await setEndpointReady(plane.admin, 'web', 0, true);
  await waitForBackends(node.netns, 'iptables', { [target]: [NEAR] }, 10_000);
});

test('the API server dies: the relay is not ready, and the node keeps what it has, and says so', async () => {
  await plane.apiServer.stop('SIGKILL');
  await eventually(relays[0].ready, (status) => status === 503, {
    timeoutMs: 60_000,
    what: 'the relay is not ready',
  });
  const age = async () =>
    Number(/data_age_seconds ([0-9.]+)/.exec(await metrics())?.[1] ?? Number.NaN);
  await eventually(age, (seconds) => seconds > 10, { timeoutMs: 60_000, what: 'old data' });
  await waitForBackends(node.netns, 'iptables', { [target]: [NEAR] }, 3_000);
  await plane.apiServer.start();
  await eventually(relays[0].ready, (status) => status === 200, {
    timeoutMs: 60_000,
    what: 'the relay is ready',
  });
  await setEndpointReady(plane.admin, 'web', 0, false);
  await waitForBackends(node.netns, 'iptables', { [target]: [] }, 60_000);
});
