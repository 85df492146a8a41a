import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { makeAuthority } from '../../../harness/certificates.ts';
import { chooseSeed, createRandom } from '../../../harness/random.ts';
import { BOUNDS, CHECKS } from './bounds.ts';
import { nameOf } from './fault-kind.ts';
import { faultKinds } from './fault-kinds.ts';
import { planHistories } from './fault-plan.ts';
import { FaultReport, type FaultSummary } from './fault-report.ts';
import { runFaults } from './fault-run.ts';
import { makeOtherCertificates } from './kinds/tls-faults.ts';
import { startMemoryStage } from './recovery/memory-stage.ts';

const { env } = process;
/** Faults of a run; 400 are a full one. */
const FAULTS = Number(env.KPW_FAULTS ?? 200);
/** After so many seconds no fault begins any more; for a run that must end. */
const SECONDS = Number(env.KPW_FAULT_SECONDS ?? 3_600);
/** `h2` or `http/1.1`: of all API servers. */
const { KPW_PROTOCOL: PROTOCOL } = env;
// Any other value would measure HTTP/1.1.
if (PROTOCOL !== undefined && PROTOCOL !== 'h2' && PROTOCOL !== 'http/1.1') {
  throw new Error(`KPW_PROTOCOL=${PROTOCOL}: h2 or http/1.1`);
}
/** Beside each other in this process. */
const HISTORIES = Number(env.KPW_HISTORIES ?? 6);
/** Between each wrapper and its API server. */
const RELAYS = Number(env.KPW_RELAYS ?? 0);

jest.setTimeout(600_000 + Math.min(SECONDS, 3_600) * 1_000);

const seed = chooseSeed();
let summary: FaultSummary | undefined;

beforeAll(async () => {
  process.stderr.write(`${FAULTS} faults of KPW_SEED=${seed}\n`);
  const authority = await makeAuthority();
  const all = faultKinds(await makeOtherCertificates(authority, '127.0.0.1'));
  const kinds = [...all.common, ...all.history, ...(RELAYS > 0 ? all.relay : [])];
  const plans = planHistories({
    random: createRandom(seed),
    // Part of the name of a kind, such as `status: 429`.
    kinds: kinds.filter((kind) => nameOf(kind).includes(env.KPW_KIND ?? '')),
    faults: FAULTS,
    histories: HISTORIES,
    protocol: PROTOCOL,
  });
  const log = (line: string) => void process.stderr.write(`${line}\n`);
  const report = new FaultReport(seed, env.KPW_VERBOSE === '1' ? log : undefined);
  const runs = plans.map(async (plan) => {
    if (plan.faults.length === 0) return;
    const options = { authority, http2: plan.http2, seed: seed + plan.number, relays: RELAYS };
    const stage = await startMemoryStage(options);
    const until = performance.now() + SECONDS * 1000;
    await runFaults(stage, plan, report, { until }).finally(() => stage.stop());
  });
  const results = await Promise.allSettled(runs);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  report.print();
  summary = report.summary;
});

afterAll(() => {
  if (env.KPW_JSON !== undefined && summary !== undefined)
    writeFileSync(env.KPW_JSON, JSON.stringify(summary, undefined, 2));
});

/** With fewer faults a percentile says little: then nine of ten must keep the bound of 99 of 100. */
const FEW = 60;

test('the view is right again within the bounds after the API server answers', () => {
  const { p50, p90, p99 } = summary?.rightAgainMs ?? {};
  const isShort = (summary?.faults ?? 0) < FEW;
  const bounds = BOUNDS.rightAgainMs;
  expect(p50).toBeLessThanOrEqual(isShort ? bounds.p90 : bounds.p50);
  expect(p90).toBeLessThanOrEqual(isShort ? bounds.p99 : bounds.p90);
  expect(p99).toBeLessThanOrEqual(isShort ? BOUNDS.rightAgainHardMs : bounds.p99);
});

test.each(Object.entries(CHECKS))('%s: %s', (check) => {
  const findings = (summary?.findings ?? []).filter((each) => each.check === check);
  expect(findings.map(({ fault, what }) => `${fault}: ${what}`)).toEqual([]);
});

test('no history ended before its plan did', () => {
  expect(summary?.brokenOff).toEqual([]);
});

test('each kind has harmed something', () => {
  expect(summary?.faults).toBeGreaterThan(0);
  expect(summary?.neverHit).toEqual([]);
});
