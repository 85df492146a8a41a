import { type Bench, withBench, withReadyWrapper } from '../bench.ts';
import type { Measure } from '../measure.ts';
import type { ClusterShape } from '../options.ts';
import { measureFiltered, measureStarts } from '../parts.ts';
import type { Program } from '../programs.ts';
import { measureRelabel } from '../relabel.ts';
import type { GrowthOptions } from './options.ts';

/** What was found in a cluster. */
export interface MeasuredCluster {
  readonly cluster: ClusterShape;
  readonly measures: readonly Measure[];
}

/** Starts a control plane, makes the cluster and measures what grows with it. */
export async function measureCluster(
  cluster: ClusterShape,
  options: GrowthOptions,
  program: Program,
  progress: (line: string) => void,
): Promise<MeasuredCluster> {
  const measures = await withBench({ ...options, cluster }, [program], progress, async (bench) => {
    await makeCluster(bench);
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
  return { cluster, measures };
}

async function makeCluster({ client, options: { cluster }, progress }: Bench): Promise<void> {
  const { services, endpoints, nodes } = cluster;
  progress(`${services} Services, ${endpoints} endpoints in a slice, ${nodes} nodes`);
  await client.createNodes(cluster);
  await client.load();
  await client.annotate();
}
