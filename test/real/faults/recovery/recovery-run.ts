import { createRandom } from '../../../../harness/random.ts';
import { makeAuthority } from '../../../support/http/certificates.ts';
import { faultKinds } from '../fault-kinds.ts';
import { makeOtherCertificates } from '../kinds/tls-faults.ts';
import { type HistoryPlan, planHistories } from './fault-plan.ts';
import { type FaultOutcome, surviveFault } from './history-run.ts';
import { startHistoryScene } from './history-scene.ts';
import { type MemoryBackend, startMemoryBackend } from './memory-backend.ts';
import { nameOf, RecoveryReport } from './recovery-report.ts';

export interface RecoveryOptions {
  readonly seed: number;
  readonly faults: number;
  /** After so many seconds no new fault begins. */
  readonly seconds: number;
  /** Histories beside each other in this process. */
  readonly histories: number;
  /** What all API servers speak; undefined: most speak HTTP/2. */
  readonly protocol: 'h2' | 'http/1.1' | undefined;
  /** Part of the names of kinds that are wanted; empty: all. */
  readonly only: string;
  /** Relays between each wrapper and its API server. */
  readonly relays: number;
  /** Gets a line for each fault. */
  readonly log?: (line: string) => void;
}

/** Runs all histories to their end. Rejects only if a history could not start; what was found is in the report. */
export async function runRecovery(options: RecoveryOptions): Promise<RecoveryReport> {
  const { seed, faults, only, histories, protocol, relays } = options;
  const authority = await makeAuthority();
  const all = faultKinds(await makeOtherCertificates(authority, '127.0.0.1'));
  const kinds = [...all.common, ...all.history, ...(relays > 0 ? all.relay : [])].filter((kind) =>
    nameOf(kind).includes(only),
  );
  const random = createRandom(seed);
  const plans = planHistories({ random, kinds, faults, histories, protocol });
  const report = new RecoveryReport(seed);
  const until = performance.now() + options.seconds * 1000;
  const run = async (plan: HistoryPlan): Promise<void> => {
    if (plan.faults.length === 0) return;
    const backend = await startMemoryBackend();
    try {
      await runHistory({ plan, backend, authority, seed, relays }, report, until, options.log);
    } finally {
      await backend.stop();
    }
  };
  const results = await Promise.allSettled(plans.map(run));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return report;
}

interface HistoryOfRun {
  readonly plan: HistoryPlan;
  readonly backend: MemoryBackend;
  readonly authority: Awaited<ReturnType<typeof makeAuthority>>;
  readonly seed: number;
  readonly relays: number;
}

async function runHistory(
  { plan, backend, authority, seed, relays }: HistoryOfRun,
  report: RecoveryReport,
  until: number,
  log: ((line: string) => void) | undefined,
): Promise<void> {
  const { http2, number } = plan;
  const scene = await startHistoryScene({
    backend,
    authority,
    http2,
    seed: seed + number,
    relays,
  });
  try {
    for (const fault of plan.faults) {
      if (performance.now() > until) break;
      // A wrapper that speaks HTTP/1.1 only is not hit by these; the report says so.
      const missing = fault.kinds.find(({ needs }) => needs === 'http2');
      if (missing !== undefined && !scene.front.isHttp2) {
        report.leaveOut(missing);
        continue;
      }
      const name = fault.kinds.map(nameOf).join(' + ');
      let outcome: FaultOutcome;
      try {
        outcome = await surviveFault(scene, fault);
      } catch (error) {
        // What the other histories find is not lost.
        report.breakOff(number, name, error);
        break;
      }
      report.add(number, outcome);
      const { rightAgainMs, hits, problems } = outcome;
      const found =
        problems.length === 0
          ? ''
          : `; ${problems
              .slice(0, 3)
              .map(({ what }) => what)
              .join('; ')}`;
      log?.(
        `${number}/${fault.number} ${name}, ${fault.seconds.toFixed(1)} s: ${hits} hits, right after ${rightAgainMs} ms${found}`,
      );
    }
  } finally {
    await scene.stop();
  }
}
