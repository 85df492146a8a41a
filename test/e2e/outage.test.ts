import { writeFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  createNode,
  createService,
  createSlice,
  deleteSlice,
  labelNode,
} from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { eventually } from './support/eventually.ts';
import type { ManagedProcess } from './support/managed-process.ts';
import { createTimings } from './support/timings.ts';
import { startWrappedNode, type WrappedNode, waitForBackends } from './support/wrapped-node.ts';

jest.setTimeout(180_000);

const timings = createTimings();
const IP = '10.96.202.1';
const NEAR = '10.244.3.5:8080';
const FAR = '10.244.3.6:8080';
/** An API server that is lost has to be noticed within this time, in milliseconds. */
const NOTICED_MS = 45_000;

let plane: ControlPlane;
let node: WrappedNode;
let kubeProxy: ManagedProcess;

beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  const configFile = join(plane.folder, 'outage.yaml');
  writeFileSync(configFile, `stateDir: ${join(plane.folder, 'state')}\n`);
  node = await startWrappedNode({ plane, nodeName: 'cut', labels: { site: 'a' }, configFile });
  const { admin } = plane;
  const annotations = { topologyKeys: '["site","*"]' };
  const ports = [{ port: 80, targetPort: 8080 }];
  await createService(admin, { name: 'shop', annotations, ports, spec: { clusterIP: IP } });
  await addBackend('near', 'a', NEAR);
  await addBackend('far', 'b', FAR);
  await startKubeProxy();
  await waitFor([NEAR]);
});

afterAll(async () => {
  await node?.stop();
  await plane?.stop();
  timings.print('outages, in ms');
});

async function addBackend(name: string, site: string, backend: string): Promise<void> {
  await createNode(plane.admin, name, { site });
  await addSlice(name, backend);
}

async function addSlice(name: string, backend: string): Promise<void> {
  const [address = ''] = backend.split(':');
  await createSlice(plane.admin, {
    name,
    service: 'shop',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [address], nodeName: name, conditions: { ready: true } }],
  });
}

async function startKubeProxy(): Promise<void> {
  kubeProxy = await node.startKubeProxy({ version: '1.36.3', mode: 'nftables', wait: false });
}

const waitFor = async (backends: string[] | undefined, timeoutMs = 20_000) =>
  await waitForBackends(node.netns, 'nftables', { [`${IP}:80`]: backends }, timeoutMs);

const read = async (path: string) => await node.netns.httpGet(node.wrapper().adminUrl + path);

/** Waits until no view is connected to the API server; returns how long that took, in milliseconds. */
async function untilNoticed(): Promise<number> {
  const connected = async () =>
    (await read('/metrics'))?.body.match(/^kube_proxy_wrapper_upstream_connected.* 1$/gm)?.length;
  const what = 'no view to be connected';
  const timeoutMs = NOTICED_MS;
  return (await eventually(connected, (n) => n === undefined, { timeoutMs, what })).elapsedMs;
}

const untilReady = async () =>
  await eventually(
    async () => await read('/readyz'),
    (answer) => answer?.status === 200,
    { timeoutMs: 60_000, what: 'to be ready' },
  );

describe('an API server that is lost silently is noticed in time', () => {
  test.each([
    ['hangs', () => plane.pauseApiServer(), () => plane.resumeApiServer()],
    ['is cut off', () => node.netns.cut(), () => node.netns.reconnect()],
  ])('when it %s', async (what, lose, find) => {
    await untilReady();
    await lose();
    try {
      timings.add(what, 'noticed', await untilNoticed());
      expect((await read('/readyz'))?.status).toBeDefined();
    } finally {
      await find();
    }
    timings.add(what, 'ready again', (await untilReady()).elapsedMs);
  });
});

test('a node that is rebooted while it is cut off has its tables again, and the changes once it is back', async () => {
  // A quiet second, until what is known is on disk.
  await sleep(3_000);
  await node.netns.cut();
  await kubeProxy.stop('SIGKILL');
  await node.stopWrapper('SIGKILL');
  await node.netns.exec('nft', ['flush', 'ruleset']);
  await waitFor(undefined);
  const started = performance.now();
  await node.startWrapper({ wait: false });
  await startKubeProxy();
  const served = async () =>
    /^kube_proxy_wrapper_view_started\{.*endpointslices.* 1$/m.test(
      (await read('/metrics'))?.body ?? '',
    );
  await eventually(served, (yes) => yes, { timeoutMs: 20_000, what: 'slices to be served' });
  timings.add('rebooted while cut off', 'served', Math.round(performance.now() - started));
  await waitFor([NEAR]);
  timings.add('rebooted while cut off', 'tables written', Math.round(performance.now() - started));
  const readyz = await read('/readyz');
  expect(readyz?.status).toBe(503);
  expect(readyz?.body).toMatch(/endpointslices.*stale, from the snapshot written 2/);
  expect(readyz?.body).toMatch(/nodes site=a failed: stale, from the snapshot/);
  await deleteSlice(plane.admin, 'near');
  await node.netns.reconnect();
  timings.add('rebooted while cut off', 'change arrived', await waitFor([FAR], 60_000));
  await untilReady();
});

test('a process that runs while etcd is restored from a backup follows the backup', async () => {
  const data = join(plane.folder, 'etcd');
  const backup = join(plane.folder, 'backup');
  /** With the API server away, as one restores. */
  const whileDown = async (work: () => Promise<void>) => {
    await plane.stopApiServer();
    await plane.etcd.stop();
    await work();
    await plane.etcd.start();
    await plane.startApiServer();
  };
  await waitFor([FAR]);
  await whileDown(async () => await cp(data, backup, { recursive: true }));
  await addSlice('near', NEAR);
  await waitFor([NEAR], 60_000);
  // More than what the API server itself writes after the restore.
  for (let n = 0; n < 500; n++) await labelNode(plane.admin, 'far', { n: String(n) });
  await untilReady();
  await whileDown(async () => {
    await rm(data, { recursive: true });
    await cp(backup, data, { recursive: true });
  });
  timings.add('etcd restored', 'backup is in the tables', await waitFor([FAR], 60_000));
  timings.add('etcd restored', 'ready again', (await untilReady()).elapsedMs);
  await addSlice('near', NEAR);
  timings.add('etcd restored', 'change arrived', await waitFor([NEAR], 60_000));
});
