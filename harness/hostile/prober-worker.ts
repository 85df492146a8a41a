/**
 * Requests one URL every 100 ms, each time on a new connection, as kubelet does. It runs in a thread of its own, so
 * that the event loop of the attacker delays no measurement. Any message ends it; it then posts its figures.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { send } from './http.ts';
import type { ProbeFigures } from './prober.ts';

const EVERY_MS = 100;
/** For one probe, from its start to the end of the answer. */
const TIMEOUT_MS = 1_000;

const figures = { probes: 0, failed: 0, slowestMs: 0 };
const running = new Set<Promise<void>>();
const timer = setInterval(() => {
  const probe = probeOnce().finally(() => running.delete(probe));
  running.add(probe);
}, EVERY_MS);

parentPort?.once('message', async () => {
  clearInterval(timer);
  await Promise.all(running);
  parentPort?.postMessage(figures satisfies ProbeFigures);
});

async function probeOnce(): Promise<void> {
  const { status, ms } = await send(workerData as string, { timeoutMs: TIMEOUT_MS });
  figures.probes += 1;
  figures.slowestMs = Math.max(figures.slowestMs, ms);
  if (status !== 200) figures.failed += 1;
}
