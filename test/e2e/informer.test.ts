import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { eventually } from './support/eventually.ts';
import { createHistory, type History } from './support/history.ts';
import { type Informers, type InformerVariant, startInformers } from './support/informer.ts';
import { asRows, viewOf } from './support/model.ts';
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
let informers: Informers;

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
  informers = startInformers({ binaries: plane.binaries, netns: node.netns, variants });
});

afterAll(async () => {
  await informers?.stop();
  await node?.stop();
  await plane?.stop();
  timings.print('all informers are as the model says, in ms');
});

/** What an informer should hold by now: its rows as the model computes them. */
function wanted({ resource, namespace }: InformerVariant): Record<string, readonly string[]> {
  const objects = resource === 'endpoints' ? history.endpoints : history.slices;
  const rows = [...asRows(viewOf(history, SELF, objects))].sort();
  // The API server's own Service; nobody manages it.
  rows.push(['default/kubernetes', ['10.99.0.1']]);
  return Object.fromEntries(
    rows.filter(([key]) => namespace === undefined || key.startsWith(`${namespace}/`)),
  );
}

/** Informers whose store, or whose handler's books, are not what the model computes. */
async function differences(): Promise<object[]> {
  const reports = await informers.dump();
  return variants.flatMap((variant) => {
    const model = wanted(variant);
    const report = reports.get(variant.name);
    return (['store', 'handled'] as const).flatMap((place) => {
      const found = new Map(report?.[place].map(({ key, endpoints }) => [key, endpoints]));
      return [...new Set([...Object.keys(model), ...found.keys()])].flatMap((key) => {
        const [seen, expected] = [found.get(key)?.join(), model[key]?.join()];
        return seen === expected ? [] : [{ name: variant.name, place, key, seen, expected }];
      });
    });
  });
}

async function expectModel(what: string): Promise<void> {
  const { elapsedMs } = await eventually(differences, (list) => list.length === 0, {
    timeoutMs: 60_000,
    what: `all informers as the model says (KPW_SEED=${seed}), ${what}`,
  });
  timings.add(what, 'informers', elapsedMs);
}

async function play(steps: number, disturb: () => Promise<void>): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await history.step();
    await sleep(random.below(20));
    await disturb();
  }
}

test('informers start with the state of the model', async () => {
  await informers.allSynced();
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
  const calls = [...(await informers.dump()).values()].map((report) => report.calls);
  for (const { add, update } of calls) {
    expect(add).toBeGreaterThan(0);
    expect(update).toBeGreaterThan(0);
  }
});
