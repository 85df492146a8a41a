import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { testUsers } from '../../../harness/api-server/control-plane.ts';
import { poll } from '../../../harness/poll.ts';
import { chooseSeed, createRandom } from '../../../harness/random.ts';
import { stoppedLater } from '../../support/closed-later.ts';
import { type NodeStage, startNodeStage } from '../faults/node/node-stage.ts';

jest.setTimeout(600_000);

const seed = chooseSeed();
let stage: NodeStage;

beforeAll(async () => {
  process.stderr.write(`random history of KPW_SEED=${seed}\n`);
  // Few streams on a connection, so that the wrapper needs several, and a GOAWAY now and then.
  const apiServerArgs = ['--goaway-chance=0.02', '--http2-max-streams-per-connection=5'];
  stage = stoppedLater(await startNodeStage({ random: createRandom(seed), apiServerArgs }));
});

// Before and after each test the kernels equal the model, and they follow one more change. Before it each query of the
// wrapper has caught up, also those that no kube-proxy reads: they come back one by one after an outage.
beforeEach(async () => {
  await stage.restartKubeProxies();
  await stage.informers.untilReadRight();
});

afterEach(async () => {
  await stage.probe();
  const { answers, wanted } = await stage.atom.dial();
  expect(answers).toEqual(wanted);
});

/** Makes random changes. */
async function play(steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) await stage.history.step();
}

test('two kube-proxies follow many changes at once', async () => {
  for (let round = 0; round < 10; round++) {
    await play(10);
    await stage.settleKernels();
  }
  await stage.informers.untilReadRight();
});

test('the wrapper is killed and started again under load', async () => {
  const load = play(100);
  await sleep(300);
  await stage.wrapper.stop('SIGKILL');
  await sleep(300);
  stage.wrapper.start();
  await load;
  await stage.settleKernels();
  await stage.informers.untilReadRight();
});

test.each<[what: string, fail: () => unknown, mend: () => unknown]>([
  ['is down', () => stage.plane.apiServer.stop('SIGKILL'), () => stage.plane.apiServer.start()],
  [
    'hangs',
    () => stage.plane.apiServer.signal('SIGSTOP'),
    () => stage.plane.apiServer.signal('SIGCONT'),
  ],
])('the API server %s: new clients get the last known state', async (_what, fail, mend) => {
  await fail();
  try {
    await sleep(2_000);
    expect(await stage.informers.readAnew()).toBe('');
    await stage.restartKubeProxies();
  } finally {
    await mend();
  }
  await play(20);
  await stage.settleKernels();
});

test('the node is rebooted while it is cut off: it has its tables again, and the changes once it is back', async () => {
  const { netns, wrapper } = stage;
  // A quiet second, until what is known is on disk.
  await sleep(3_000);
  await netns.cut();
  try {
    await wrapper.stop('SIGKILL');
    await netns.exec('nft', ['flush', 'ruleset']);
    wrapper.start();
    const fromSnapshot = /nodes atom=\S failed: stale, from the snapshot written 2/;
    await poll(
      () => wrapper.admin('/readyz'),
      (answer) => answer?.status === 503 && fromSnapshot.test(answer.body),
      { timeoutMs: 60_000, what: 'node sets of the snapshot' },
    );
    await stage.restartKubeProxies();
    await play(30);
  } finally {
    await netns.reconnect();
  }
  await stage.settleKernels();
});

test('the API server no longer has the version from which the wrapper would resume', async () => {
  const { plane, wrapper } = stage;
  const since = Date.now();
  wrapper.signal('SIGSTOP');
  try {
    // The first restart ends its watches; what happens then never even reaches its sockets. The second
    // makes watch caches that begin after all that.
    await plane.apiServer.restart();
    await play(30);
    await plane.apiServer.restart();
  } finally {
    wrapper.signal('SIGCONT');
  }
  await stage.settleKernels();
  const { wrapper: user } = testUsers;
  const lists = () => plane.requests({ user, verb: 'list', resource: 'endpointslices', since });
  // The kernels may be right before it: the changes of some histories change nothing for this node.
  const { value } = await poll(lists, ({ length }) => length > 0, {
    timeoutMs: 60_000,
    what: 'a list of slices',
  });
  expect(value.length).toBeGreaterThan(0);
});
