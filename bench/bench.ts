import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../harness/api-server/control-plane.ts';
import { type MeasuringClient, startClient } from './client.ts';
import { ensureClientBinary } from './client-binary.ts';
import { type Measure, type ProgramMeasure, summarize } from './measure.ts';
import type { BenchOptions } from './options.ts';
import { startBenchPlane } from './plane.ts';
import type { ProcessUsage } from './process-usage.ts';
import { type Program, turnsOf } from './programs.ts';
import { type MeasuredWrapper, startMeasuredWrapper, type WrapperStart } from './wrapper.ts';

/** What every part of a run works with. */
export interface Bench {
  readonly options: BenchOptions;
  readonly plane: ControlPlane;
  readonly client: MeasuringClient;
  /** Returns whether a part is to be run. */
  wants(part: string): boolean;
  /** Starts a wrapper, or a relay. Default server: the API server itself. */
  start(how?: Partial<WrapperStart>): Promise<MeasuredWrapper>;
  /** Starts a wrapper that the client uses from now on. */
  startWrapper(server?: string): Promise<MeasuredWrapper>;
  /** Notes a result, of the program whose turn it is. */
  add(measure: Measure): void;
  /** Runs this for each program, in turns. All of them work with the same cluster, which it leaves as it was. */
  inTurns(measure: () => Promise<void>): Promise<void>;
  progress(line: string): void;
}

/** Starts all that is measured, runs `parts` and returns what they found: each result of each turn. */
export async function withBench(
  options: BenchOptions,
  programs: readonly Program[],
  progress: (line: string) => void,
  parts: (bench: Bench) => Promise<void>,
): Promise<ProgramMeasure[]> {
  const binary = await ensureClientBinary(progress);
  const measures: ProgramMeasure[] = [];
  let [current] = programs as [Program];
  progress('starting etcd and kube-apiserver');
  const plane = await startBenchPlane(progress);
  try {
    const client = await startClient(binary, plane);
    const { profile } = options;
    const start = async (how: Partial<WrapperStart> = {}) =>
      await startMeasuredWrapper(plane, {
        program: current.path,
        server: plane.server,
        profile,
        ...how,
      });
    try {
      await parts({
        options,
        plane,
        client,
        wants: (part) => options.only.length === 0 || options.only.includes(part),
        start,
        startWrapper: async (server = plane.server) => await startUsed(client, start({ server })),
        add: (measure) => void measures.push({ program: current.name, ...measure }),
        inTurns: async (measure) => {
          for (const program of turnsOf(programs, options.turns)) {
            current = program;
            if (programs.length > 1) progress(`turn of ${program.name}`);
            await measure();
          }
        },
        progress,
      });
    } finally {
      await client.stop();
    }
  } finally {
    await plane.stop();
  }
  return measures;
}

async function startUsed(
  client: MeasuringClient,
  started: Promise<MeasuredWrapper>,
): Promise<MeasuredWrapper> {
  const wrapper = await started;
  try {
    await client.useWrapper(wrapper.url);
    return wrapper;
  } catch (error) {
    await wrapper.stop();
    throw error;
  }
}

/**
 * Runs `use` with a wrapper that has a kube-proxy's watches open, has been ready for a while, and has given back the
 * memory of its first lists; it stops for that. Default server: the API server itself.
 */
export async function withReadyWrapper(
  bench: Bench,
  use: (wrapper: MeasuredWrapper) => Promise<void>,
  server?: string,
): Promise<void> {
  const wrapper = await bench.startWrapper(server);
  try {
    await bench.client.firstList('wrapper');
    await bench.client.hold('wrapper');
    await wrapper.ready();
    await sleep(bench.options.settleMs);
    await use(wrapper);
    await bench.client.release();
  } finally {
    await wrapper.stop();
  }
}

/** Notes the memory of a process that has been left alone for a while. */
export async function addMemory(
  bench: Bench,
  wrapper: MeasuredWrapper,
  id: string,
  what: string,
): Promise<void> {
  await sleep(bench.options.settleMs);
  bench.add({ id, what, unit: 'MB', wrapper: summarize([wrapper.memory().now]) });
}

/** CPU that processes use while `during` runs, each in per cent of a core. */
export async function cpuShares(
  processes: readonly ProcessUsage[],
  during: () => Promise<unknown>,
): Promise<number[]> {
  const before = { cpu: processes.map((process) => process.cpu()), at: performance.now() };
  await during();
  const ms = performance.now() - before.at;
  return processes.map((process, index) => {
    return ((process.cpu() - (before.cpu[index] ?? 0)) / ms) * 100_000;
  });
}
