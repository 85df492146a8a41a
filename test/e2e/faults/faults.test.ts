import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { chooseSeed, createRandom } from '../support/random.ts';
import type { FaultKind } from './fault.ts';
import { faultKinds } from './fault-kinds.ts';
import { createFaultReport } from './fault-report.ts';
import { type FaultScene, startFaultScene } from './fault-scene.ts';

/** Faults of a run. */
const WANTED = Number(process.env.KPW_FAULTS ?? 200);
/** After so many seconds of faults, {@link LEAST} are enough; for a run that must end. */
const SECONDS = Number(process.env.KPW_FAULT_SECONDS ?? Number.POSITIVE_INFINITY);
/** Faults to be survived, however slow the machine is. */
const LEAST = Math.min(WANTED, 8);
/** A client-go that has been refused often waits for up to a minute. */
const RIGHT_AGAIN_MS = 120_000;
/** A kube-proxy that backs off is not restarted. It may back off twice. */
const KERNEL_RIGHT_MS = 200_000;

jest.setTimeout(600_000 + WANTED * 20_000);

const seed = chooseSeed();
const random = createRandom(seed);
const report = createFaultReport();
let scene: FaultScene;
/** When the first fault came, as of performance.now(). */
let began = 0;

beforeAll(async () => {
  process.stderr.write(`${WANTED} faults of KPW_SEED=${seed}\n`);
  scene = await startFaultScene(random);
});

afterAll(async () => {
  report.print({
    'objects lost': scene?.informers.lost.length,
    'informers restarted because they backed off': scene?.informers.renewed,
    'processes of the wrapper': scene?.node.generations.length,
    'seconds of faults': Math.round((performance.now() - began) / 1000),
    seed,
  });
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
  return report.survived >= (isLate ? LEAST : WANTED);
}

/** Each kind once, then by their weights. */
function* chooseKinds(): Generator<FaultKind, never, undefined> {
  const once = [...faultKinds];
  while (once.length > 0) yield* once.splice(random.below(once.length), 1);
  const deck = faultKinds.flatMap((kind) => Array<FaultKind>(kind.weight).fill(kind));
  for (;;) yield random.pick(deck);
}

/** What changes while something fails. */
async function change(): Promise<void> {
  const steps = 2 + random.below(4);
  const flips = random.chance(0.4);
  for (let step = 0; step < steps; step++) await scene.history.step();
  if (flips) await scene.atom.flip();
}

async function survive(kind: FaultKind): Promise<void> {
  const dwell = random.below(700);
  const heal = await kind.strike(scene, random);
  // The API server may be away, and take them only when it is back.
  const changes = change();
  changes.catch(() => {});
  await Promise.race([changes, sleep(1_500)]);
  await sleep(dwell);
  const harmed = await heal();
  await changes;
  const rightAgainMs = await scene.informers.settle(RIGHT_AGAIN_MS);
  report.add(kind.name, harmed, rightAgainMs);
}

test('all clients are right before anything fails', async () => {
  await scene.informers.settle(RIGHT_AGAIN_MS);
  for (let state = 0; state < 2; state++) {
    await scene.atom.learn(scene.node.wrapper().url);
    await scene.atom.flip();
    await scene.informers.settle(RIGHT_AGAIN_MS);
  }
  const [x, y] = scene.atom.atom().states;
  expect(x).not.toEqual(y);
});

test('informers equal the model after each of many faults', async () => {
  const kinds = chooseKinds();
  began = performance.now();
  while (!enough()) {
    const kind = kinds.next().value;
    try {
      await survive(kind);
    } catch (cause) {
      const what = `fault ${report.survived + 1}, ${kind.name}, of KPW_SEED=${seed}`;
      const fresh = JSON.stringify(await scene.informers.readAnew().catch(String));
      const wrong = `clients that start now get wrong: ${fresh.slice(0, 2_000)}`;
      const log = scene.node.wrapper().log().slice(-6_000);
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
  const { recorders, node, atom } = scene;
  await recorders.settle(60_000);
  await recorders.stop();
  const { violations, counts } = recorders.check(node.generations, atom.atom());
  process.stderr.write(`records checked: ${JSON.stringify(counts)}\n`);
  expect(violations.slice(0, 20)).toEqual([]);
  expect(counts.unreadable).toBeUndefined();
});
