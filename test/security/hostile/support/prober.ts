import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What a liveness probe saw. */
export interface ProbeFigures {
  readonly probes: number;
  /** Probes that were not answered with 200 in time. */
  readonly failed: number;
  readonly slowestMs: number;
  /** Status or error of the first failure; empty: there is none. */
  readonly firstFailure: string;
}

export interface ProberOptions {
  readonly url: string;
  /** Milliseconds between two probes. */
  readonly everyMs: number;
  /** Milliseconds for one probe, from its start to the headers of the answer. */
  readonly timeoutMs: number;
}

/** Probes that run until {@link Prober.stop}. */
export interface Prober {
  stop(): Promise<ProbeFigures>;
}

/** Probes `/healthz` of an admin port as kubelet does, but every 100 ms and with a timeout of 1 s. */
export function startProber(adminUrl: string): Prober {
  const options: ProberOptions = { url: `${adminUrl}/healthz`, everyMs: 100, timeoutMs: 1_000 };
  const worker = new Worker(new URL('./prober-worker.ts', import.meta.url), {
    workerData: options,
  });
  return {
    stop: async () => {
      worker.postMessage('stop');
      const [figures] = (await once(worker, 'message')) as [ProbeFigures];
      await worker.terminate();
      return figures;
    },
  };
}

/** The figures in words. */
export function inWords({ probes, failed, slowestMs, firstFailure }: ProbeFigures): string {
  const first = firstFailure === '' ? '' : ` (first: ${firstFailure})`;
  return `${probes} probes, ${failed} failed${first}, slowest ${slowestMs} ms`;
}
