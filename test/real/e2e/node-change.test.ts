import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import {
  createNode,
  labelNode,
  setNodeAddress,
} from '../../../harness/api-server/cluster-objects.ts';
import { poll } from '../../../harness/poll.ts';
import { chooseSeed, createRandom } from '../../../harness/random.ts';
import { stoppedLater } from '../../support/closed-later.ts';
import { type NodeStage, startNodeStage } from '../faults/node/node-stage.ts';
import { SELF } from '../faults/wrapper-under-test.ts';

/*
 * kube-proxy exits with code 1 since 1.37 when its Node is deleted, when its addresses change, or when a Node that it
 * missed at its start gets its first address. A wrapper relays that, and causes none of it. Nothing starts these
 * kube-proxies again but the tests.
 */
jest.setTimeout(600_000);

const seed = chooseSeed();
let stage: NodeStage;

beforeAll(async () => {
  process.stderr.write(`random history of KPW_SEED=${seed}\n`);
  stage = stoppedLater(await startNodeStage({ random: createRandom(seed) }));
});

beforeEach(async () => await stage.restartKubeProxies());

afterEach(async () => await stage.netns.reconnect());

const endings = () => stage.kubeProxies.map((kubeProxy) => kubeProxy.ending());
const RUNNING = [undefined, undefined];

/** Makes a change and waits until both kube-proxies have ended; returns the milliseconds from the API's answer. */
async function expectToEnd(change: () => Promise<unknown>, because: RegExp): Promise<number> {
  await change();
  const { elapsedMs } = await poll(endings, (all) => all.every((how) => how === 'code 1'), {
    what: 'both kube-proxies to end',
    intervalMs: 10,
  });
  for (const kubeProxy of stage.kubeProxies) {
    expect(kubeProxy.log().slice(-3_000)).toMatch(because);
  }
  return elapsedMs;
}

/** The address of the own Node: its real one, or another one. */
const address = async (last?: number) =>
  await setNodeAddress(
    stage.plane.admin,
    SELF,
    last === undefined ? stage.netns.address : `10.99.0.${last}`,
  );

test('a kube-proxy ends with its wrapper only if its Node changes', async () => {
  const { plane, wrapper, netns } = stage;
  const disturbances: Readonly<Record<string, () => Promise<unknown>>> = {
    relabel: () => labelNode(plane.admin, SELF, { 'example.com/spare': String(Date.now()) }),
    SIGTERM: () => wrapper.stop('SIGTERM'),
    SIGKILL: () => wrapper.stop('SIGKILL'),
    'hot restart': () => wrapper.replace(),
    'outage of the API server': async () => {
      await plane.apiServer.stop('SIGKILL');
      await sleep(3_000);
      await plane.apiServer.start();
    },
    'another etcd watch cache': () => plane.apiServer.restart(),
    'start from a snapshot': async () => {
      await netns.cut();
      await wrapper.stop('SIGKILL');
      await wrapper.start();
      await sleep(5_000);
      await netns.reconnect();
    },
  };
  for (const [name, disturb] of Object.entries(disturbances)) {
    await disturb();
    if (name.startsWith('SIG')) await wrapper.start();
    await stage.settleKernels();
    expect([name, ...endings()]).toEqual([name, ...RUNNING]);
  }
});

test('a kube-proxy ends when the addresses of its Node change, and when it is deleted', async () => {
  const times = [await expectToEnd(() => address(1), /NodeIPs changed for the node/)];
  await address();
  await stage.restartKubeProxies();
  const { admin } = stage.plane;
  const node = await admin.get(`/api/v1/nodes/${SELF}`);
  const { labels = {} } = node.metadata;
  const remove = () => admin.delete(`/api/v1/nodes/${SELF}`);
  times.push(await expectToEnd(remove, /Node is being deleted/));
  process.stderr.write(
    `ms until both kube-proxies had ended: ${times.map(Math.round).join(' ')}\n`,
  );
  await createNode(admin, SELF, labels, stage.netns.address);
});

test('a kube-proxy that started without its Node ends when the Node gets its first address', async () => {
  const { admin } = stage.plane;
  const { labels = {} } = (await admin.get(`/api/v1/nodes/${SELF}`)).metadata;
  await expectToEnd(() => admin.delete(`/api/v1/nodes/${SELF}`), /Node is being deleted/);
  await Promise.all(stage.kubeProxies.map((kubeProxy) => kubeProxy.start(false)));
  const waited = /Timed out waiting for node to exist/;
  for (const kubeProxy of stage.kubeProxies) {
    await poll(kubeProxy.log, (log) => waited.test(log.slice(-3_000)), {
      timeoutMs: 120_000,
      what: 'kube-proxy to start without a Node',
    });
  }
  await createNode(admin, SELF, labels);
  await sleep(1_000);
  expect(endings()).toEqual(RUNNING);
  await expectToEnd(() => address(), /NodeIPs changed for the node/);
});

test('a wrapper that is killed when the addresses change does not end the next kube-proxy', async () => {
  const { netns, wrapper, kubeProxies } = stage;
  // An older Node is on disk.
  await sleep(2_000);
  for (const last of [2, 3, 4]) {
    await expectToEnd(() => address(last), /NodeIPs changed for the node/);
    await netns.cut();
    await wrapper.stop('SIGKILL');
    await wrapper.start();
    const before = kubeProxies.map((kubeProxy) => kubeProxy.log().length);
    await Promise.all(kubeProxies.map((kubeProxy) => kubeProxy.start(true)));
    for (const [at, kubeProxy] of kubeProxies.entries()) {
      const found = /NodeIPs="?\[?"?([\d.]+)/.exec(kubeProxy.log().slice(before[at]))?.[1];
      expect(found).toBe(`10.99.0.${last}`);
    }
    await netns.reconnect();
    await stage.atom.flip();
    await stage.settleKernels();
    expect(endings()).toEqual(RUNNING);
  }
  await expectToEnd(() => address(), /NodeIPs changed for the node/);
});
