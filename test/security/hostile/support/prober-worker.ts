/**
 * Requests one URL every 100 ms, each time on a new connection, as kubelet does. It runs in a thread of its own, so
 * that the event loop of the attacker delays no measurement. Any message ends it; it then posts its figures.
 */
import { get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { ProbeFigures, ProberOptions } from './prober.ts';

const { url, everyMs, timeoutMs } = workerData as ProberOptions;
const figures = { probes: 0, failed: 0, slowestMs: 0, firstFailure: '' };
const running = new Set<Promise<void>>();

const timer = setInterval(() => {
  const probe = probeOnce().finally(() => running.delete(probe));
  running.add(probe);
}, everyMs);

parentPort?.once('message', async () => {
  clearInterval(timer);
  await Promise.all(running);
  parentPort?.postMessage(figures satisfies ProbeFigures);
});

async function probeOnce(): Promise<void> {
  const start = performance.now();
  const outcome = await status();
  figures.probes += 1;
  figures.slowestMs = Math.max(figures.slowestMs, Math.round(performance.now() - start));
  if (outcome === '200') return;
  figures.failed += 1;
  if (figures.firstFailure === '') figures.firstFailure = outcome;
}

/** The HTTP status, or why there is none. */
function status(): Promise<string> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (response) => {
      response.resume();
      resolve(String(response.statusCode));
    });
    const timeout = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs);
    request.once('error', ({ message }) => resolve(message));
    request.once('close', () => clearTimeout(timeout));
  });
}
