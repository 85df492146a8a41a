import { type Bench, withBench, withReadyWrapper } from '../bench.ts';
import type { Measure } from '../measure.ts';
import type { WorldShape } from '../options.ts';
import { measureFiltered, measureStarts } from '../parts.ts';
import { measureRelabel } from '../relabel.ts';
import type { GrowthOptions } from './options.ts';

/** What was found in a world. */
export interface MeasuredWorld {
  readonly world: WorldShape;
  readonly measures: readonly Measure[];
}

/** Starts a control plane, makes the world and measures what grows with it. */
export async function measureWorld(
  world: WorldShape,
  options: GrowthOptions,
  progress: (line: string) => void,
): Promise<MeasuredWorld> {
  const measures = await withBench({ ...options, world }, progress, async (bench) => {
    await makeWorld(bench);
    progress('starts');
    await measureStarts(bench);
    await withReadyWrapper(bench, async () => {
      await bench.client.verify('wrapper', true);
      progress('LIST');
      await measureFiltered(bench);
      progress('own node relabelled');
      await measureRelabel(bench);
      await bench.client.verify('wrapper', true);
    });
  });
  return { world, measures };
}

async function makeWorld({ client, options: { world }, progress }: Bench): Promise<void> {
  const { services, endpoints, nodes } = world;
  progress(`${services} Services, ${endpoints} endpoints in a slice, ${nodes} nodes`);
  await client.createNodes(world);
  await client.load();
  await client.annotate();
}
