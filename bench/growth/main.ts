/** Measures how time and memory grow with Services, endpoints and nodes; see ../README.md. */
import type { ClusterShape } from '../options.ts';
import { ourProgram } from '../programs.ts';
import { type Progress, runBenchmark } from '../run.ts';
import { ALMOST_EMPTY, growthCurves } from './clusters.ts';
import { type MeasuredCluster, measureCluster } from './measure-cluster.ts';
import { type GrowthOptions, parseGrowthOptions, USAGE } from './options.ts';
import { formatGrowth, type GrowthResults, measuredCurve } from './report.ts';

const options = parseGrowthOptions(process.argv.slice(2));
if (options === undefined) process.stdout.write(USAGE);
else await measureGrowth(options);

async function measureGrowth(options: GrowthOptions): Promise<void> {
  await runBenchmark(
    options,
    'growth',
    async (progress) => await measureClusters(options, progress),
    (measured, run) => {
      const almostEmpty = measured(ALMOST_EMPTY);
      const curves = growthCurves(options.smoke).map((curve) =>
        measuredCurve(curve, curve.clusters.map(measured), almostEmpty),
      );
      const results: GrowthResults = { ...run, almostEmpty, curves };
      return { results, text: formatGrowth(results) };
    },
  );
}

/** Measures each cluster once, because curves share some; returns a look-up. */
async function measureClusters(
  options: GrowthOptions,
  progress: Progress,
): Promise<(cluster: ClusterShape) => MeasuredCluster> {
  const program = await ourProgram(options.wrapper);
  const clusters = [
    ALMOST_EMPTY,
    ...growthCurves(options.smoke).flatMap((curve) => curve.clusters),
  ];
  const measured = new Map<string, MeasuredCluster>();
  for (const cluster of clusters) {
    const key = JSON.stringify(cluster);
    if (measured.has(key)) continue;
    measured.set(key, await measureCluster(cluster, options, program, progress));
  }
  return (cluster) => {
    const found = measured.get(JSON.stringify(cluster));
    if (found === undefined) throw new Error('a cluster that was not measured');
    return found;
  };
}
