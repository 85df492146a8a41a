import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { createHistory, type History } from './support/history.ts';
import { historyRows } from './support/history-rows.ts';
import type { InformerVariant } from './support/informer.ts';
import { type InformerFleet, startInformerFleet } from './support/informer-fleet.ts';
import { chooseSeed, createRandom } from './support/random.ts';
import { createTimings } from './support/timings.ts';
import { startWrappedNode, type WrappedNode } from './support/wrapped-node.ts';

jest.setTimeout(180_000);

const SELF = 'here';
/** Where informers connect to: their connections can be cut there. */
const RELAY = '127.0.0.1:10370';

const seed = chooseSeed();
const random = createRandom(seed);
const timings = createTimings();
let plane: ControlPlane;
let node: WrappedNode;
let history: History;
let informers: InformerFleet;

/** Every way in which client-go reads. The namespaced ones only see namespace `one`. */
const variants: readonly InformerVariant[] = (['endpointslices', 'endpoints'] as const).flatMap(
  (resource) =>
    (['protobuf', 'json'] as const).flatMap((contentType) =>
      [true, false].flatMap((streaming) =>
        [
          { resyncSeconds: 0 },
          { resyncSeconds: 2 },
          { resyncSeconds: 1, handlerResyncSeconds: 0 },
          { resyncSeconds: 0, namespace: 'one' },
        ].map((more) => ({
          name: [resource, contentType, streaming, JSON.stringify(more)].join(' '),
          server: `http://${RELAY}`,
          resource,
          contentType,
          streaming,
          ...more,
        })),
      ),
    ),
);

beforeAll(async () => {
  process.stderr.write(`random history of KPW_SEED=${seed}\n`);
  // No controllers: what is in the API is what the history wrote.
  plane = await startControlPlane({ controllers: false });
  node = await startWrappedNode({ plane, nodeName: SELF });
  history = await createHistory({
    api: plane.admin,
    random,
    self: SELF,
    others: ['n1', 'n2', 'n3'],
    namespaces: ['one', 'two'],
    all: true,
  });
  await node.netns.relay(RELAY, new URL(node.wrapper().url).host);
  informers = await startInformerFleet({
    binaries: plane.binaries,
    netns: node.netns,
    processes: [variants],
    wanted: (variant) => historyRows(history, SELF, variant),
  });
});

afterAll(async () => {
  await informers?.stop();
  await node?.stop();
  await plane?.stop();
  timings.print('all informers are as the model says, in ms');
});

async function expectModel(what: string): Promise<void> {
  timings.add(what, 'informers', await informers.settle(60_000));
}

async function play(steps: number, disturb: () => Promise<void>): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await history.step();
    await sleep(random.below(20));
    await disturb();
  }
}

test('informers start with the state of the model', async () => {
  await expectModel('at the start');
});

test('informers follow a random history', async () => {
  // The first resync of the informers: from now on, handlers without one are strict (see watcher.go).
  await sleep(1_500);
  for (let round = 0; round < 15; round++) {
    await play(8, async () => {});
    await expectModel('8 changes, round by round (longest)');
  }
});

test('informers follow a random history with their watches cut', async () => {
  let cuts = 0;
  await play(120, async () => {
    if (random.chance(0.1)) cuts += await node.netns.cutRelay(RELAY);
  });
  expect(cuts).toBeGreaterThan(variants.length);
  await expectModel('120 changes, connections cut');
});

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'informers follow a random history over an end (%s) and a start of the wrapper',
  async (signal) => {
    await play(30, async () => {});
    await node.stopWrapper(signal);
    await play(20, async () => {});
    await Promise.all([node.startWrapper(), play(30, async () => {})]);
    await expectModel(`80 changes, ${signal} and start of the wrapper`);
  },
);

test('informers follow a continuing history', async () => {
  await play(30, async () => {});
  await expectModel('30 changes');
  for (const { calls } of await informers.reports()) {
    expect(calls.add).toBeGreaterThan(0);
    expect(calls.update).toBeGreaterThan(0);
  }
});
