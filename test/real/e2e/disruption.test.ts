import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import {
  type ControlPlane,
  startControlPlane,
  testUsers,
} from '../../../harness/api-server/control-plane.ts';
import { eventually } from '../../../harness/eventually.ts';
import {
  type DisruptionScene,
  startDisruptionScene,
} from '../../../harness/node/disruption-scene.ts';
import { chooseSeed, createRandom } from '../../../harness/random.ts';

jest.setTimeout(180_000);

const seed = chooseSeed();
let plane: ControlPlane;
let scene: DisruptionScene;

beforeAll(async () => {
  process.stderr.write(`random history of KPW_SEED=${seed}\n`);
  // Few streams on a connection, so that the wrapper needs several, and a GOAWAY now and then.
  const apiServerArgs = ['--goaway-chance=0.02', '--http2-max-streams-per-connection=5'];
  plane = await startControlPlane({ apiServerArgs });
  const settings = { stateDir: join(plane.folder, 'state') };
  scene = await startDisruptionScene(plane, createRandom(seed), settings);
});

afterAll(async () => {
  await scene?.stop();
  await plane?.stop();
});

// Before and after each test the kernels equal the model, and they follow one more change.
beforeEach(async () => {
  await scene.restartKubeProxies();
  await scene.settle();
});

afterEach(async () => {
  await scene.probe();
  const { counts, wanted } = await scene.dialProbe();
  expect(counts).toEqual({ [wanted]: 20 });
});

test('two kube-proxies follow many changes at once', async () => {
  for (let round = 0; round < 10; round++) {
    await scene.play(10);
    await scene.settle();
  }
  expect(await scene.readAsNewClient()).toEqual(scene.readModel());
});

test('the wrapper is killed and started again under load', async () => {
  const load = scene.startLoad();
  await sleep(300);
  await scene.node.stopWrapper('SIGKILL');
  await sleep(300);
  await scene.node.startWrapper();
  await sleep(300);
  expect(await load.stop()).toBeGreaterThan(20);
  await scene.settle();
  expect(await scene.readAsNewClient()).toEqual(scene.readModel());
});

test('the API server is down: new clients get the last known state', async () => {
  await plane.apiServer.stop('SIGKILL');
  expect(await scene.readAsNewClient()).toEqual(scene.readModel());
  await scene.restartKubeProxies();
  await scene.settle();
  await plane.apiServer.start();
  await scene.play(20);
  await scene.settle();
});

test('the API server hangs: new clients get the last known state', async () => {
  plane.apiServer.signal('SIGSTOP');
  try {
    await sleep(2_000);
    expect(await scene.readAsNewClient()).toEqual(scene.readModel());
  } finally {
    plane.apiServer.signal('SIGCONT');
  }
  await scene.play(20);
  await scene.settle();
});

test('the node is rebooted while it is cut off: it has its tables again, and the changes once it is back', async () => {
  const { node } = scene;
  const readyz = async () => await node.netns.httpGet(`${node.wrapper().adminUrl}/readyz`);
  // A quiet second, until what is known is on disk.
  await sleep(3_000);
  await node.netns.cut();
  try {
    await node.stopWrapper('SIGKILL');
    await node.netns.exec('nft', ['flush', 'ruleset']);
    await node.startWrapper({ wait: false });
    const fromSnapshot = /nodes probe=\S failed: stale, from the snapshot written 2/;
    await eventually(readyz, (answer) => answer?.status === 503 && fromSnapshot.test(answer.body), {
      timeoutMs: 30_000,
      what: 'node sets of the snapshot',
    });
    await scene.restartKubeProxies();
    await scene.settle();
    await scene.play(30);
  } finally {
    await node.netns.reconnect();
  }
  await scene.settle();
});

test('the API server no longer has the version from which the wrapper would resume', async () => {
  const wrapper = scene.node.wrapper().child;
  const since = Date.now();
  wrapper.kill('SIGSTOP');
  try {
    // The first restart ends its watches; what happens then never even reaches its sockets. The second
    // makes watch caches that begin after all that.
    await plane.apiServer.restart();
    await scene.play(30);
    await plane.apiServer.restart();
  } finally {
    wrapper.kill('SIGCONT');
  }
  await scene.settle();
  const { wrapper: user } = testUsers;
  const lists = plane.requests({ user, verb: 'list', resource: 'endpointslices', since });
  expect(lists.length).toBeGreaterThan(0);
});
