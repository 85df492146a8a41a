import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createTextTable } from '../../../harness/history/text-table.ts';
import { chooseSeed, createRandom } from '../../../harness/random.ts';
import type { ActiveFault } from './active-fault.ts';
import type { FaultKind, NodeTarget } from './fault-kind.ts';
import { faultKinds } from './fault-kinds.ts';
import { makeOtherCertificates } from './kinds/tls-faults.ts';
import { type FaultScene, startFaultScene } from './node/fault-scene.ts';
import { waitForHit } from './wait-for-hit.ts';

/** Faults of a run. */
const WANTED = Number(process.env.KPW_FAULTS ?? 200);
/** After so many seconds of faults, {@link LEAST} are enough; for a run that must end. */
const SECONDS = Number(process.env.KPW_FAULT_SECONDS ?? Number.POSITIVE_INFINITY);
/** Faults to be survived, however slow the machine is. */
const LEAST = Math.min(WANTED, 8);
/** The protocol of the API server: HTTP/2, or HTTP/1.1 alone. */
const HTTP1 = process.env.KPW_HTTP === '1.1';
/** A client-go that has been refused often waits for up to a minute. */
const RIGHT_AGAIN_MS = 120_000;
/** A kube-proxy that backs off is not restarted. It may back off twice. */
const KERNEL_RIGHT_MS = 200_000;

jest.setTimeout(600_000 + WANTED * 20_000);

const seed = chooseSeed();
const random = createRandom(seed);
/** Faults that did harm and were survived, by kind. */
const table = createTextTable();
let survived = 0;
let longestMs = 0;
let scene: FaultScene;
let kinds: ReturnType<typeof chooseKinds>;
/** Kinds that tell while they last whether they have hit something. */
let common: readonly FaultKind[];
/** When the first fault came, as of performance.now(). */
let began = 0;

beforeAll(async () => {
  process.stderr.write(`${WANTED} faults of KPW_SEED=${seed}\n`);
  scene = await startFaultScene(random, HTTP1 ? ['http/1.1'] : ['h2', 'http/1.1']);
  const { authority, address } = scene;
  const all = faultKinds(await makeOtherCertificates(authority, address));
  common = all.common.filter(({ needs }) => needs !== (HTTP1 ? 'http2' : 'http1'));
  kinds = chooseKinds(all.node, common);
});

afterAll(async () => {
  table.print('faults, and the longest time until all informers were right again');
  const summary = {
    'faults survived': survived,
    'longest, ms': longestMs,
    'objects lost': scene?.informers.lost.length,
    'informers restarted because they backed off': scene?.informers.renewed,
    'processes of the wrapper': scene?.wrapper.runs.length,
    'seconds of faults': Math.round((performance.now() - began) / 1000),
    seed,
  };
  const lines = Object.entries(summary).map(([name, value]) => `${name}: ${value}`);
  process.stderr.write(`${lines.join('\n')}\n\n`);
  for (const line of scene?.informers.lost ?? []) process.stderr.write(`${JSON.stringify(line)}\n`);
  await scene?.stop();
});

/** What comes after would only wait for what can't be any more. */
function expectSurvived(): void {
  expect(enough()).toBe(true);
}

/** As many as wanted, or as there was time for. */
function enough(): boolean {
  const isLate = (performance.now() - began) / 1000 > SECONDS;
  return survived >= (isLate ? LEAST : WANTED);
}

/** Each kind of a node once, then all by their weights. */
function* chooseKinds(
  ofNodes: readonly FaultKind<NodeTarget>[],
  others: readonly FaultKind<NodeTarget>[],
): Generator<FaultKind<NodeTarget>, never, undefined> {
  const once = [...ofNodes];
  while (once.length > 0) yield* once.splice(random.below(once.length), 1);
  const deck = [...ofNodes, ...others].flatMap((kind) =>
    Array<FaultKind<NodeTarget>>(kind.weight ?? 1).fill(kind),
  );
  for (;;) yield random.pick(deck);
}

function note(kind: FaultKind<NodeTarget>, hits: number, rightAgainMs: number): void {
  const name = `${kind.room}: ${kind.name}`;
  const raise = (column: string, by: number) =>
    table.set(name, column, String(Number(table.get(name, column) ?? 0) + by));
  if (hits === 0) {
    raise('hit nothing', 1);
    return;
  }
  survived += 1;
  longestMs = Math.max(longestMs, rightAgainMs);
  raise('survived', 1);
  raise('harmed', hits);
  const slowest = Math.max(rightAgainMs, Number(table.get(name, 'longest, ms') ?? 0));
  table.set(name, 'longest, ms', String(slowest));
}

/** What changes while something fails. */
async function change(): Promise<void> {
  const steps = 2 + random.below(4);
  const flips = random.chance(0.4);
  for (let step = 0; step < steps; step++) await scene.history.step();
  if (flips) await scene.atom.flip();
}

async function survive(kind: FaultKind<NodeTarget>): Promise<void> {
  const dwell = random.below(700);
  const [front, other] = await scene.node.fronts();
  if (front === undefined) throw new Error('there is no front');
  // The other address of the API server answers, or not.
  const alone = random.chance(0.5) ? await other?.beginTcp({ kind: 'refuse' }) : undefined;
  const active: ActiveFault = await kind.strike({ ...scene, front });
  // The API server may be away, and take them only when it is back.
  const changes = change();
  changes.catch(() => {});
  await Promise.race([changes, sleep(1_500)]);
  await sleep(dwell);
  if (common.some((each) => each === kind)) await waitForHit(active);
  await active.end();
  await alone?.end();
  await changes;
  const rightAgainMs = await scene.informers.settle(RIGHT_AGAIN_MS);
  note(kind, active.hits(), rightAgainMs);
}

test('all clients are right before anything fails', async () => {
  const { atom, informers, wrapper } = scene;
  for (const next of [atom.flip, atom.empty, atom.flip]) {
    await informers.settle(RIGHT_AGAIN_MS);
    await atom.learn(wrapper.url);
    await next();
  }
  await informers.settle(RIGHT_AGAIN_MS);
  expect(new Set(atom.atom().states.map(String)).size).toBe(3);
});

test('informers equal the model after each of many faults', async () => {
  began = performance.now();
  while (!enough()) {
    const kind = kinds.next().value;
    try {
      await survive(kind);
    } catch (cause) {
      const what = `fault ${survived + 1}, ${kind.room}: ${kind.name}, of KPW_SEED=${seed}`;
      const fresh = JSON.stringify(await scene.informers.readAnew().catch(String));
      const wrong = `clients that start now get wrong: ${fresh.slice(0, 2_000)}`;
      const log = scene.wrapper.log();
      const message = (cause as Error).message.slice(0, 3_000);
      throw new Error(`${what}: ${message}\n${wrong}\nthe wrapper's log ends: ${log}`, { cause });
    }
  }
  expectSurvived();
});

test('the kernels equal the model at the end', async () => {
  expectSurvived();
  await scene.atom.flip();
  const { history, atom, kubeProxies } = scene;
  const times = kubeProxies.map(async (kubeProxy) => [
    kubeProxy.name,
    await kubeProxy.settle(history, atom.backends(), KERNEL_RIGHT_MS),
  ]);
  process.stderr.write(`kernels right, in ms: ${(await Promise.all(times)).join('; ')}\n`);
});

test('what the clients received keeps the six guarantees of a watch', async () => {
  expectSurvived();
  const { recorders, wrapper, atom } = scene;
  await recorders.settle(60_000);
  await recorders.stop();
  const { violations, counts } = recorders.check(
    wrapper.runs.map(({ start, end }, index) => ({ log: `process ${index + 1}`, start, end })),
    atom.atom(),
  );
  process.stderr.write(`records checked: ${JSON.stringify(counts)}\n`);
  expect(violations.slice(0, 20)).toEqual([]);
  expect(counts.unreadable).toBeUndefined();
});
