/** Compares the wrapper with the API server behind it; see README.md. */
import { addMemory, type Bench, withBench, withReadyWrapper } from './bench.ts';
import { formatComparison } from './comparison.ts';
import { measureBoot } from './fleet/boot.ts';
import { measureFleet } from './fleet/fleet.ts';
import { measureSite } from './fleet/measure-site.ts';
import { measureLarge } from './large.ts';
import { type BenchOptions, parseOptions, USAGE } from './options.ts';
import {
  measureChurn,
  measureEvents,
  measureFiltered,
  measureIdle,
  measureJson,
  measureRaw,
  measureStarts,
} from './parts.ts';
import { ourProgram, rivalPrograms } from './programs.ts';
import { measureOthers, measureRelabel } from './relabel.ts';
import { formatContext, formatTable, type Results } from './report.ts';
import { runBenchmark } from './run.ts';
import { measureUpstream } from './upstream.ts';

const options = parseOptions(process.argv.slice(2));
if (options === undefined) process.stdout.write(USAGE);
else await bench(options);
// Once Node 24.21 did not end by itself: it waited, busy, for a handle that never closed.
process.exit();

async function bench(options: BenchOptions): Promise<void> {
  const { cluster, rounds, against } = options;
  await runBenchmark(
    options,
    'results',
    async (progress) => {
      const programs = [
        await ourProgram(options.wrapper),
        ...(await rivalPrograms(against, progress)),
      ];
      return await withBench(options, programs, progress, runParts);
    },
    (measures, run) => {
      const results: Results = { ...run, cluster, rounds, measures };
      const table = against.length === 0 ? formatTable(measures) : formatComparison(measures);
      return { results, text: `${formatContext(results)}\n\n${table}` };
    },
  );
}

async function runParts(bench: Bench): Promise<void> {
  const { client, options, progress } = bench;
  await client.createNodes(options.cluster);
  if (bench.wants('idle')) {
    progress('almost empty cluster');
    await bench.inTurns(async () => await measureIdle(bench));
  }
  progress(`creating ${options.cluster.services} Services and slices`);
  const loadMs = await client.load();
  progress(`created in ${Math.round(loadMs)} ms`);
  if (bench.wants('raw')) {
    progress('LIST and streaming list, nothing cut');
    await bench.inTurns(async () => await measureRaw(bench));
  }
  progress('annotating all Services');
  await client.annotate();
  await bench.inTurns(async () => await runRepeatable(bench));
  for (const [part, line, measure] of [
    ['upstream', 'what the API server is asked for', measureUpstream],
    ['fleet', 'many nodes that tell that they are alive', measureFleet],
    ['boot', 'a site of real nodes boots', measureBoot],
    ['site', 'a site of simulated nodes boots', measureSite],
  ] as const) {
    await runPart(bench, part, line, async () => await measure(bench));
  }
}

/** The parts with annotated Services that leave the cluster as they found it. */
async function runRepeatable(bench: Bench): Promise<void> {
  const { client, progress } = bench;
  if (bench.wants('start')) {
    progress('starts');
    await measureStarts(bench);
  }
  await withReadyWrapper(bench, async (wrapper) => {
    await client.verify('wrapper', true);
    const parts = [
      ['filtered', 'LIST and streaming list, filtered', measureFiltered],
      ['events', 'watch latency', measureEvents],
      ['relabel', 'own node relabelled', measureRelabel],
      ['others', 'other nodes relabelled', measureOthers],
      ['churn', 'CPU', measureChurn],
    ] as const;
    for (const [part, line, measure] of parts) {
      await runPart(bench, part, line, async () => await measure(bench, wrapper));
    }
    await client.verify('wrapper', true);
    await addMemory(bench, wrapper, 'memory.used', 'memory, after all this');
  });
  // These have a wrapper of their own, so that the one before is used for the same in every run.
  for (const [part, line, measure] of [
    ['large', 'one Service of 10,000 endpoints', measureLarge],
    ['json', 'LIST as JSON', measureJson],
  ] as const) {
    await runPart(bench, part, line, async () => await measure(bench));
  }
}

async function runPart(
  bench: Bench,
  part: string,
  line: string,
  measure: () => Promise<void>,
): Promise<void> {
  if (!bench.wants(part)) return;
  bench.progress(line);
  await measure();
}
