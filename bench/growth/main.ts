/** Measures how time and memory grow with Services, endpoints and nodes; see ../README.md. */
import type { WorldShape } from '../options.ts';
import { type Progress, runBenchmark } from '../run.ts';
import { ensureWrapper } from '../wrapper.ts';
import { type MeasuredWorld, measureWorld } from './measure-world.ts';
import { type GrowthOptions, parseGrowthOptions, USAGE } from './options.ts';
import { formatGrowth, type GrowthResults, measuredCurve } from './report.ts';
import { ALMOST_EMPTY, growthCurves } from './worlds.ts';

const options = parseGrowthOptions(process.argv.slice(2));
if (options === undefined) process.stdout.write(USAGE);
else await measureGrowth(options);

async function measureGrowth(options: GrowthOptions): Promise<void> {
  await runBenchmark(
    options,
    'growth',
    async (progress) => await measureWorlds(options, progress),
    (measured, run) => {
      const almostEmpty = measured(ALMOST_EMPTY);
      const curves = growthCurves(options.smoke).map((curve) =>
        measuredCurve(curve, curve.worlds.map(measured), almostEmpty),
      );
      const results: GrowthResults = { ...run, almostEmpty, curves };
      return { results, text: formatGrowth(results) };
    },
  );
}

/** Measures each world once, for curves share some; returns where to look them up. */
async function measureWorlds(
  options: GrowthOptions,
  progress: Progress,
): Promise<(world: WorldShape) => MeasuredWorld> {
  const wrapper = await ensureWrapper(options.wrapper);
  const worlds = [ALMOST_EMPTY, ...growthCurves(options.smoke).flatMap((curve) => curve.worlds)];
  const measured = new Map<string, MeasuredWorld>();
  for (const world of worlds) {
    const key = JSON.stringify(world);
    if (measured.has(key)) continue;
    measured.set(key, await measureWorld(world, { ...options, wrapper }, progress));
  }
  return (world) => {
    const found = measured.get(JSON.stringify(world));
    if (found === undefined) throw new Error('a world that was not measured');
    return found;
  };
}
