import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { chooseSeed, createRandom } from '../../../harness/random.ts';
import type { NodeTarget } from './fault-kind.ts';
import { faultKinds } from './fault-kinds.ts';
import { planHistories } from './fault-plan.ts';
import { FaultReport } from './fault-report.ts';
import { type FaultStage, runFaults, untilRight } from './fault-run.ts';
import { makeOtherCertificates } from './kinds/tls-faults.ts';
import { faultStageOf } from './node/fault-stage.ts';
import { type NodeStage, startNodeStage } from './node/node-stage.ts';
import { startRecorders } from './node/recorder-fleet.ts';

/** Faults of a run. */
const WANTED = Number(process.env.KPW_FAULTS ?? 200);
/** After so many seconds of faults, {@link LEAST} are enough; for a run that must end. */
const SECONDS = Number(process.env.KPW_FAULT_SECONDS ?? Number.POSITIVE_INFINITY);
/** Faults to be survived, however slow the machine is. */
const LEAST = Math.min(WANTED, 8);
/** The protocol of the API server: HTTP/2, or HTTP/1.1 alone. */
const HTTP1 = process.env.KPW_HTTP === '1.1';
/** Relays between the wrapper and the API server. */
const RELAYS = Number(process.env.KPW_RELAYS ?? 0);
/** A client-go that has been refused often waits for up to a minute. */
const RIGHT_AGAIN_MS = 120_000;
/** A kube-proxy that backs off is not restarted. It may back off twice. */
const KERNEL_RIGHT_MS = 200_000;

jest.setTimeout(600_000 + WANTED * 20_000);

const seed = chooseSeed();
const random = createRandom(seed);
const report = new FaultReport(seed);
let node: NodeStage;
let stage: FaultStage<NodeTarget>;
let recorders: ReturnType<typeof startRecorders>;

beforeAll(async () => {
  process.stderr.write(`${WANTED} faults of KPW_SEED=${seed}\n`);
  const protocols = HTTP1 ? (['http/1.1'] as const) : (['h2', 'http/1.1'] as const);
  node = await startNodeStage({ random, protocols: [...protocols], relays: RELAYS });
  stage = faultStageOf(node);
  recorders = startRecorders(node.netns, { near: node.wrapper.url, relayed: node.node.url });
});

afterAll(async () => {
  report.print();
  await recorders?.stop();
  await node?.stop();
});

test('all clients are right before anything fails', async () => {
  const { atom, wrapper } = node;
  for (const next of [atom.flip, atom.empty, atom.flip]) {
    expect(await untilRight(stage, RIGHT_AGAIN_MS)).toBeDefined();
    await atom.learn(wrapper.url);
    await next();
  }
  expect(new Set(atom.atom().states.map(String)).size).toBe(3);
});

test('informers equal the model after each of many faults', async () => {
  const { authority } = node.node;
  const kinds = faultKinds(await makeOtherCertificates(authority, node.netns.hostAddress));
  const [plan] = planHistories({
    random,
    first: kinds.node,
    kinds: [...kinds.common, ...kinds.node],
    faults: WANTED,
    histories: 1,
    protocol: HTTP1 ? 'http/1.1' : 'h2',
    mostSeconds: 2,
  });
  if (plan === undefined) throw new Error('there is no plan');
  const until = performance.now() + SECONDS * 1000;
  await runFaults(stage, plan, report, { until, least: LEAST });
  const { brokenOff, findings, faults } = report.summary;
  expect({ brokenOff, findings }).toEqual({ brokenOff: [], findings: [] });
  expect(faults).toBeGreaterThanOrEqual(LEAST);
});

test('the kernels equal the model at the end', async () => {
  expect(report.summary.brokenOff).toEqual([]);
  await node.atom.flip();
  const times = await node.settleKernels(KERNEL_RIGHT_MS);
  process.stderr.write(`kernels right, in ms: ${times.join('; ')}\n`);
});

test('what the clients received keeps the six guarantees of a watch', async () => {
  expect(report.summary.brokenOff).toEqual([]);
  await recorders.settle(60_000);
  await recorders.stop();
  const { violations, counts } = recorders.check(node.atom.atom());
  process.stderr.write(`records checked: ${JSON.stringify(counts)}\n`);
  expect(violations.slice(0, 20)).toEqual([]);
  expect(counts.unreadable).toBeUndefined();
});
