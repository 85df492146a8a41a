import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  jest,
  test,
} from '@jest/globals';
import { type ControlPlane, startControlPlane, testUsers } from './support/control-plane.ts';
import { type DisruptionScene, startDisruptionScene } from './support/disruption-scene.ts';
import { eventually } from './support/eventually.ts';
import { writeObject } from './support/history-objects.ts';
import { type InformerReport, type InformerRow, startInformers } from './support/informer.ts';
import { chooseSeed, createRandom } from './support/random.ts';
import { createTimings } from './support/timings.ts';
import { startWrappedNode, type WrappedNode } from './support/wrapped-node.ts';

jest.setTimeout(180_000);

const seed = chooseSeed();
const timings = createTimings();
let plane: ControlPlane;

beforeAll(async () => {
  process.stderr.write(`random history of KPW_SEED=${seed}\n`);
  plane = await startControlPlane({ controllers: false });
});

afterAll(async () => {
  await plane?.stop();
  timings.print('after → both kernels are right, in ms');
});

function note(what: string, times: Readonly<Record<string, number>>): void {
  for (const [kernel, elapsedMs] of Object.entries(times)) timings.add(what, kernel, elapsedMs);
}

describe('the kernels equal the model, and follow the next change, when', () => {
  let scene: DisruptionScene;

  beforeAll(async () => {
    scene = await startDisruptionScene(plane, createRandom(seed));
  });

  beforeEach(async () => {
    await scene.restartKubeProxies();
    await scene.settle();
  });

  afterEach(async () => {
    note('own node relabelled afterwards (longest)', await scene.probe());
    const { counts, wanted } = await scene.dialProbe();
    expect(counts).toEqual({ [wanted]: 20 });
  });

  afterAll(async () => {
    await scene?.stop();
  });

  test('two kube-proxies follow many changes at once', async () => {
    for (let round = 0; round < 10; round++) {
      await scene.play(10);
      note('10 changes (longest of 10)', await scene.settle());
    }
    expect(await scene.readAsNewClient()).toEqual(scene.readModel());
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'the wrapper is restarted (%s) under load',
    async (signal) => {
      const load = scene.startLoad();
      await sleep(300);
      await scene.node.stopWrapper(signal);
      await sleep(300);
      await scene.node.startWrapper();
      await sleep(300);
      expect(await load.stop()).toBeGreaterThan(20);
      note(`wrapper restarted (${signal})`, await scene.settle());
      expect(await scene.readAsNewClient()).toEqual(scene.readModel());
    },
  );

  test('the wrapper ends cleanly on SIGTERM while clients are connected', async () => {
    const { node } = scene;
    const start = performance.now();
    await node.stopWrapper('SIGTERM');
    expect(node.wrapper().ending()).toBe('code 0');
    expect(performance.now() - start).toBeLessThan(5_000);
    await scene.play(30);
    await node.startWrapper();
    note('30 changes while the wrapper was down', await scene.settle());
  });

  test('the API server is restarted under load', async () => {
    const load = scene.startLoad();
    await sleep(300);
    await plane.restartApiServer();
    await sleep(300);
    expect(await load.stop()).toBeGreaterThan(20);
    note('API server restarted', await scene.settle());
  });

  test('the API server is down: new clients get the last known state', async () => {
    await plane.stopApiServer('SIGKILL');
    expect(await scene.readAsNewClient()).toEqual(scene.readModel());
    await scene.restartKubeProxies();
    note('kube-proxies started while the API server is down', await scene.settle());
    await plane.startApiServer();
    await scene.play(20);
    note('API server up again', await scene.settle());
  });

  test('the API server hangs: new clients get the last known state', async () => {
    plane.pauseApiServer();
    try {
      await sleep(2_000);
      expect(await scene.readAsNewClient()).toEqual(scene.readModel());
    } finally {
      plane.resumeApiServer();
    }
    await scene.play(20);
    note('API server woken up', await scene.settle());
  });

  test('the node is cut off for a while: changes of that time arrive', async () => {
    const { netns } = scene.node;
    await netns.cut();
    try {
      expect(await scene.readAsNewClient()).toEqual(scene.readModel());
      await scene.play(30);
      await sleep(1_000);
    } finally {
      await netns.reconnect();
    }
    note('node reconnected', await scene.settle());
  });

  test('the API server no longer has the version from which the wrapper would resume', async () => {
    const wrapper = scene.node.wrapper().child;
    const since = Date.now();
    wrapper.kill('SIGSTOP');
    try {
      // The first restart ends its watches; what happens then never even reaches its sockets. The second
      // makes watch caches that begin after all that.
      await plane.restartApiServer();
      await scene.play(30);
      await plane.restartApiServer();
    } finally {
      wrapper.kill('SIGCONT');
    }
    note('wrapper woken up with versions too old', await scene.settle());
    const { wrapper: user } = testUsers;
    const lists = plane.requests({ user, verb: 'list', resource: 'endpointslices', since });
    expect(lists.length).toBeGreaterThan(0);
  });
});

describe('a client whose version cannot be resumed', () => {
  const slices = '/apis/discovery.k8s.io/v1/endpointslices';
  /** Where the informers connect to, so that they can be cut off. */
  const relay = '127.0.0.1:10370';
  let node: WrappedNode;

  beforeAll(async () => {
    const configFile = `${plane.folder}/small-window.yaml`;
    writeFileSync(configFile, 'windowEntries: 10\nwindowBytes: 1000\n');
    node = await startWrappedNode({ plane, nodeName: 'small', configFile });
    await node.netns.relay(relay, new URL(node.wrapper().url).host);
    await putSlice(0);
  });

  afterAll(async () => {
    await node?.stop();
  });

  /** A slice that no policy manages, so that each change of it is an event. */
  async function putSlice(host: number): Promise<void> {
    const key = 'default/free';
    const endpoint = { node: undefined, zone: undefined, state: 'ready' } as const;
    const endpoints = [{ ...endpoint, address: `10.244.60.${host}` }];
    const object = { service: 'default/none', groups: [{ ports: ['http'], endpoints }] };
    await writeObject(plane.admin, { kind: 'slice', key, object });
  }

  /** Makes more changes than the window holds; the last one has host 80. */
  const overrun = async () => {
    for (let host = 1; host <= 80; host++) await putSlice(host);
  };

  const get = async (query: string) =>
    await node.netns.httpGet(`${node.wrapper().url}${slices}?${query}`);

  const watchFrom = async (version: string) =>
    await get(`watch=true&timeoutSeconds=1&resourceVersion=${version}`);

  const currentVersion = async (): Promise<string> =>
    JSON.parse((await get(''))?.body ?? '').metadata.resourceVersion;

  async function expectExpired(version: string): Promise<void> {
    const answer = await watchFrom(version);
    expect(answer?.status).toBe(410);
    const status = { kind: 'Status', code: 410, reason: 'Expired' };
    expect(JSON.parse(answer?.body ?? '')).toMatchObject(status);
  }

  test('gets 410 Expired when the version has left the window', async () => {
    const version = await currentVersion();
    expect(await watchFrom(version)).toEqual({ status: 200, body: '' });
    await overrun();
    await eventually(currentVersion, (now) => BigInt(now) > BigInt(version) + 80n);
    await expectExpired(version);
  });

  test('gets 410 Expired when the version is of an earlier process, or of the future', async () => {
    const version = await currentVersion();
    await node.stopWrapper('SIGKILL');
    await node.startWrapper();
    await expectExpired(version);
    await expectExpired(String(BigInt(await currentVersion()) + 1n));
  });

  test('lists again and misses nothing, if it is a client-go informer', async () => {
    const informers = startInformers({
      binaries: plane.binaries,
      netns: node.netns,
      variants: [true, false].map((streaming) => ({
        name: `streaming ${streaming}`,
        server: `http://${relay}`,
        streaming,
        resource: 'endpointslices',
        contentType: 'json',
      })),
    });
    const { child } = informers.process;
    try {
      await informers.allSynced();
      // While it is frozen and cut off it gets no event. Then it resumes from its old version.
      child.kill('SIGSTOP');
      expect(await node.netns.cutRelay(relay)).toBe(2);
      await overrun();
      child.kill('SIGCONT');
      const isLast = ({ endpoints }: InformerRow) => endpoints.join() === '10.244.60.80';
      const isUpToDate = ({ store, handled }: InformerReport) =>
        store.some(isLast) && handled.some(isLast);
      await eventually(informers.dump, (dump) => [...dump.values()].every(isUpToDate));
    } finally {
      await informers.stop();
    }
  });
});
