/** Measures what a stock kube-proxy does with and without the wrapper; see ../README.md. */

import type { ControlPlane } from '../../harness/api-server/control-plane.ts';
import { runCommand } from '../../harness/process/run-command.ts';
import { type MeasuringClient, startClient } from '../client.ts';
import { ensureClientBinary } from '../client-binary.ts';
import { describeRun } from '../machine.ts';
import { startBenchPlane } from '../plane.ts';
import { ourProgram } from '../programs.ts';
import { type Progress, runBenchmark } from '../run.ts';
import { formatBreakEven, type Needs, needsOf } from './break-even.ts';
import { type GainCase, measureCase } from './measure.ts';
import { startMeasuredNode } from './node.ts';
import { type GainOptions, parseGainOptions, USAGE } from './options.ts';
import { formatGainContext, formatGainTable, type GainResults } from './report.ts';

const options = parseGainOptions(process.argv.slice(2));
if (options === undefined) process.stdout.write(USAGE);
else await bench(options);

async function bench(options: GainOptions): Promise<void> {
  if (options.sizes === undefined) await benchOne(options);
  else await benchSizes(options, options.sizes);
}

async function benchOne(options: GainOptions): Promise<void> {
  const { cluster, rate } = options;
  await runBenchmark(
    options,
    'kubeProxy',
    async (progress) => ({
      cases: await runCases(options, progress),
      tools: await toolVersions(),
    }),
    ({ cases, tools }, run) => {
      const results: GainResults = { ...run, tools, cluster, rate, cases };
      return { results, text: `${formatGainContext(results)}\n\n${formatGainTable(cases)}` };
    },
  );
}

/** Clusters of growing size, to find the one from which on the wrapper saves more than it needs. */
async function benchSizes(options: GainOptions, sizes: readonly number[]): Promise<void> {
  await runBenchmark(
    options,
    'breakEven',
    async (progress) => {
      const needs: Needs[] = [];
      for (const services of sizes) {
        const cluster = { ...options.cluster, services };
        needs.push(...needsOf(services, await runCases({ ...options, cluster }, progress)));
      }
      return needs;
    },
    (needs, run) => {
      const { machine, seconds } = run;
      const context = describeRun(machine, seconds, describeSizes(options, sizes));
      return { results: { ...run, needs }, text: `${context}\n\n${formatBreakEven(needs)}` };
    },
  );
}

function describeSizes(
  { cluster, rate, windowSeconds }: GainOptions,
  sizes: readonly number[],
): string {
  const { endpoints, nodes, sites } = cluster;
  return `clusters of ${sizes.join(', ')} Services of one slice with ${endpoints} endpoints, ${nodes} nodes in ${sites} sites; ${rate} slices change a second for ${windowSeconds} s; all`;
}

async function runCases(options: GainOptions, progress: Progress): Promise<GainCase[]> {
  const { path: program } = await ourProgram(options.wrapper);
  const binary = await ensureClientBinary(progress);
  progress('starting etcd and kube-apiserver');
  const plane = await startBenchPlane(progress);
  try {
    const client = await startClient(binary, plane);
    try {
      await fill(client, options, progress);
      return await measureAll({ plane, client, program, options, progress });
    } finally {
      await client.stop();
    }
  } finally {
    await plane.stop();
  }
}

async function fill(client: MeasuringClient, options: GainOptions, progress: Progress) {
  progress(`creating ${options.cluster.services} Services and slices`);
  await client.createNodes(options.cluster);
  await client.load();
  await client.annotate();
}

interface Parts {
  readonly plane: ControlPlane;
  readonly client: MeasuringClient;
  readonly program: string;
  readonly options: GainOptions;
  readonly progress: Progress;
}

/** One kube-proxy at a time, each on a node of its own. */
async function measureAll({ plane, client, program, options, progress }: Parts) {
  const cases: GainCase[] = [];
  for (const mode of options.modes) {
    for (const target of ['direct', 'wrapper'] as const) {
      progress(`kube-proxy in ${mode} mode, ${target}`);
      const node = await startMeasuredNode({ plane, mode, target, program });
      try {
        cases.push(await measureCase(node, client, options, { mode, target }));
      } finally {
        await node.stop();
      }
    }
  }
  return cases;
}

/** Such as `nftables v1.0.6` and `iptables v1.8.9 (legacy)`. */
async function toolVersions(): Promise<string[]> {
  const outputs = [
    await runCommand('nft', ['--version']),
    await runCommand('iptables-legacy', ['--version']),
  ];
  // The name of nftables' release has no further information.
  return outputs.map((output) => output.replace(/ \(.*#.*\)/, '').trim());
}
