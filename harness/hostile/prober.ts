import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What liveness probes saw. */
export interface ProbeFigures {
  readonly probes: number;
  /** Probes that were not answered with 200 within a second. */
  readonly failed: number;
  readonly slowestMs: number;
}

/** Probes `/healthz` of an admin port as kubelet does, but every 100 ms. */
export function startProber(adminUrl: string): { stop(): Promise<ProbeFigures> } {
  const worker = new Worker(new URL('./prober-worker.ts', import.meta.url), {
    workerData: `${adminUrl}/healthz`,
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
