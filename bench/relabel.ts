import type { Bench } from './bench.ts';
import type { Relabelling } from './client.ts';
import { exponentOf, fitLine, type Point } from './fit.ts';
import { type Measure, summarize } from './measure.ts';

/** Number of moved nodes: few Services have an endpoint on the first one, many on the last one. */
const CROWDS = 3;

/** Own node relabelled: once so that some Services change, once so that nearly all do. */
export async function measureRelabel(bench: Bench): Promise<void> {
  const moves = [
    { id: 'room', label: 'bench.example/room', values: ['room-1', 'room-0'] },
    { id: 'site', label: 'bench.example/site', values: ['site-1', 'site-0'] },
  ];
  for (const { id, label, values } of moves) {
    const run = async (rounds: number) =>
      await bench.client.relabelOwn(label, Array.from({ length: rounds }, () => values).flat());
    await run(1);
    const samples = await run(bench.options.rounds);
    addRelabellings(bench, `relabel.${id}`, 'own node relabelled', samples);
  }
}

/**
 * Other nodes moved into our site and back: nodes that few, some and many Services know. The first two moves are
 * for warming up.
 */
export async function measureOthers(bench: Bench): Promise<void> {
  const points: Point[] = [];
  for (let crowd = 0; crowd < CROWDS; crowd++) {
    const moves = await bench.client.relabelOther(crowd, bench.options.rounds + 1);
    const samples = moves.slice(2);
    const last = addRelabellings(bench, `others.${crowd}`, 'another node relabelled', samples);
    if (last?.slices !== undefined) points.push([last.slices, last.wrapper.p50]);
  }
  addGrowth(bench, points);
}

/** How the time to the last event grows: as a power of the slices, and as a straight line. */
function addGrowth(bench: Bench, points: readonly Point[]): void {
  const exponent = exponentOf(points);
  if (exponent === undefined) return;
  const { slope, constant } = fitLine(points);
  const what = 'another node relabelled, last event over slices';
  const add = (id: string, name: string, unit: Measure['unit'], value: number) =>
    bench.add({ id, what: `${what}: ${name}`, unit, wrapper: summarize([value]) });
  add('others.exponent', 'exponent', 'exponent', exponent);
  add('others.constant', 'constant part of a line', 'ms', constant);
  add('others.slope', 'each further 1,000', 'ms', slope * 1000);
}

/** Notes the first and the last event; returns the last. Nothing is noted where nothing changes. */
export function addRelabellings(
  bench: Bench,
  id: string,
  what: string,
  samples: readonly Relabelling[],
): Measure | undefined {
  const slices = samples[0]?.expected ?? 0;
  if (slices === 0) return undefined;
  const measures = (['first', 'last'] as const).map((end): Measure => {
    const ms = samples.map(({ firstMs, lastMs }) => (end === 'first' ? firstMs : lastMs));
    const name = `${what}, ${slices} slices change: ${end} event`;
    return { id: `${id}.${end}`, what: name, unit: 'ms', slices, wrapper: summarize(ms) };
  });
  for (const measure of measures) bench.add(measure);
  const surplus = samples.map(({ events, expected }) => events - expected);
  if (Math.max(...surplus) > 0) bench.progress(`${id}: surplus events ${surplus}`);
  return measures.at(-1);
}
