import { type Bench, withReadyWrapper } from './bench.ts';
import type { Latencies } from './client.ts';
import { summarize } from './measure.ts';
import { addRelabellings } from './relabel.ts';

/** Patches before those that count, and the pause between two. */
const WARM_UP = 20;
const PAUSE_MS = 10;

/** One Service of 10,000 endpoints in 100 slices, beside all others: what a change of one slice takes. */
export async function measureLarge(bench: Bench): Promise<void> {
  const { client, options } = bench;
  await client.createLarge();
  await withReadyWrapper(bench, async () => {
    // The watches of a kube-proxy would be clients too, and would be written to first.
    await client.release();
    const patches = [
      { id: 'hostname', what: 'endpoint in sight changes', patch: client.largeHostnames },
      {
        id: 'readiness',
        what: 'readiness changes, all decided again',
        patch: client.largeReadiness,
      },
    ];
    for (const { id, what, patch } of patches) {
      await patch(WARM_UP, PAUSE_MS);
      addAdded(bench, id, what, await patch(options.rounds * 20, PAUSE_MS));
    }
    await client.largeKeys(1);
    const samples = await client.largeKeys(options.rounds);
    addRelabellings(bench, 'large.keys', '10,000 endpoints, another key wins', samples);
  });
  await client.deleteLarge();
}

function addAdded(bench: Bench, id: string, what: string, { added }: Latencies): void {
  bench.add({
    id: `large.${id}`,
    what: `10,000 endpoints, ${what}: added by the wrapper`,
    unit: 'ms',
    wrapper: summarize(added),
  });
}
