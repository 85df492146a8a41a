import { setTimeout as sleep } from 'node:timers/promises';
import { testUsers } from '../harness/api-server/control-plane.ts';
import { addMemory, type Bench, cpuShares, withReadyWrapper } from './bench.ts';
import type { Encoding, Target, Times } from './client.ts';
import { type Measure, summarize } from './measure.ts';
import { type MeasuredWrapper, startWatchReader } from './wrapper.ts';

/** Unseen slices that are to change in a second while CPU is measured, and the share of them that is enough. */
const CHURN_PER_SECOND = 100;
const MIN_RATE_SHARE = 0.9;

/** Memory and CPU with hardly an object in the cluster. */
export async function measureIdle(bench: Bench): Promise<void> {
  await withReadyWrapper(bench, async (wrapper) => {
    await addMemory(bench, wrapper, 'memory.empty', 'memory, almost empty cluster');
  });
}

/** LIST and streaming list of slices of which nothing is cut. */
export async function measureRaw(bench: Bench): Promise<void> {
  await withReadyWrapper(bench, async (wrapper) => {
    await bench.client.verify('wrapper', false);
    await measureReads(bench, 'raw', 'nothing cut');
    await addMemory(bench, wrapper, 'memory.raw', 'memory, nothing cut, after the reads');
  });
}

/** Time from the start of the process, and from the API server's lists, to a whole answer; and memory then. */
export async function measureStarts(bench: Bench): Promise<void> {
  const [listed, ready, afterLists]: [number[], number[], number[]] = [[], [], []];
  const [memory, peak]: [number[], number[]] = [[], []];
  for (let round = 0; round < bench.options.starts; round++) {
    const wrapper = await bench.startWrapper();
    try {
      listed.push((await bench.client.firstList('wrapper')) - wrapper.startedAt);
      await bench.client.hold('wrapper');
      const readyMs = await wrapper.ready();
      ready.push(readyMs);
      afterLists.push(wrapper.startedAt + readyMs - largeListsAt(bench, wrapper));
      await sleep(bench.options.settleMs);
      memory.push(wrapper.memory().now);
      peak.push(wrapper.memory().peak);
      await bench.client.release();
    } finally {
      await wrapper.stop();
    }
  }
  const add = (id: string, what: string, unit: 'ms' | 'MB', samples: number[]) =>
    bench.add({ id, what, unit, wrapper: summarize(samples) });
  add('start.list', 'process start to the end of the first LIST', 'ms', listed);
  add('start.ready', "process start to ready with all of kube-proxy's views", 'ms', ready);
  const lists = "the API server's lists of slices and Services to ready with all views";
  add('start.afterLists', lists, 'ms', afterLists);
  add('memory.synced', 'memory, synced', 'MB', memory);
  add('memory.peak', 'memory, peak until then', 'MB', peak);
}

/** When the API server had written the lists of slices and of Services, in milliseconds since the epoch. */
function largeListsAt({ plane }: Bench, { startedAt: since }: MeasuredWrapper): number {
  const written = ['endpointslices', 'services'].map((resource) => {
    const lists = plane.requests({ user: testUsers.wrapper, verb: 'list', resource, since });
    const [first] = lists;
    if (first === undefined) throw new Error(`the wrapper has not asked for a list of ${resource}`);
    return first.answeredAt;
  });
  return Math.max(...written);
}

/** LIST and streaming list of slices that the keys have filtered. */
export async function measureFiltered(bench: Bench): Promise<void> {
  await measureReads(bench, 'filtered', 'filtered');
}

/** LIST of the same slices as JSON, which has a view of its own, and what both views need. */
export async function measureJson(bench: Bench): Promise<void> {
  await withReadyWrapper(bench, async (wrapper) => {
    await addMemory(bench, wrapper, 'memory.protobuf', "memory, kube-proxy's views");
    await bench.client.verify('wrapper', true, 'json');
    await measureLists(bench, 'json', 'filtered, as JSON', 'json');
    await addMemory(bench, wrapper, 'memory.json', 'memory, with a view of the slices as JSON');
  });
}

/** Time that a watch event takes longer through the wrapper, for 1 and 50 clients. */
export async function measureEvents(bench: Bench): Promise<void> {
  const events = bench.options.rounds * 20;
  // The watches of a kube-proxy would be clients too, and would be written to first.
  await bench.client.release();
  for (const clients of [1, 50]) {
    await bench.client.latency(clients, 20, 10);
    const { direct, added } = await bench.client.latency(clients, events, 10);
    if (clients === 1) {
      const what = 'PATCH to watch event, direct alone';
      const [directOnly, both] = [summarize(direct), direct.map((ms, i) => ms + (added[i] ?? 0))];
      bench.add({
        id: 'watch.total',
        what,
        unit: 'ms',
        direct: directOnly,
        wrapper: summarize(both),
      });
    }
    bench.add({
      id: `watch.added.${clients}`,
      what: `watch event, added by the wrapper, ${clients} client${clients === 1 ? '' : 's'}`,
      unit: 'ms',
      wrapper: summarize(added),
    });
  }
  await bench.client.hold('wrapper');
}

/** CPU while nothing happens, and while 100 slices a second change that the node doesn't see. */
export async function measureChurn(bench: Bench, wrapper: MeasuredWrapper): Promise<void> {
  const { client, options } = bench;
  const { cpuSeconds, cpuWindows, cpuQuietMs } = options;
  const reader = await startWatchReader(bench.plane);
  // Before the windows, not in them: the initial events of these watches, and what the parts before have left to do.
  await client.follow('wrapper');
  await sleep(cpuQuietMs);
  const quiet: number[] = [];
  for (let window = 0; window < cpuWindows; window++) {
    quiet.push(...(await cpuShares([wrapper], async () => await sleep(cpuSeconds * 1000))));
  }
  const [busy, direct, rates]: [number[], number[], number[]] = [[], [], []];
  let events = 0;
  const count = cpuSeconds * CHURN_PER_SECOND;
  for (let window = 0; window < cpuWindows; window++) {
    const churn = async () => {
      const churned = await client.churn(count, 1000 / CHURN_PER_SECOND);
      events += churned.events;
      rates.push(count / churned.seconds);
    };
    const [ofWrapper = 0, ofReader = 0] = await cpuShares([wrapper, reader], churn);
    busy.push(ofWrapper);
    direct.push(ofReader);
  }
  await client.unfollow();
  await reader.stop();
  const rate = summarize(rates).p50;
  if (!options.smoke && rate < CHURN_PER_SECOND * MIN_RATE_SHARE) {
    throw new Error(
      `only ${rate.toFixed(0)} of ${CHURN_PER_SECOND} slices a second could be changed`,
    );
  }
  const unit = '% of a core';
  bench.add({ id: 'cpu.quiet', what: 'CPU, no events', unit, wrapper: summarize(quiet) });
  const what = `CPU, ${rate.toFixed(0)} unseen slice events a second`;
  bench.add({ id: 'cpu.churn', what, unit, wrapper: summarize(busy) });
  const perEvent = (shares: number[]) =>
    summarize(shares.map((share, window) => (share * 10_000) / (rates[window] ?? rate)));
  bench.add({
    id: 'cpu.event',
    what: 'CPU per unseen slice event; direct: a process that only reads them',
    unit: 'µs',
    direct: perEvent(direct),
    wrapper: perEvent(busy),
  });
  const sent = `events sent to the client by these ${count * cpuWindows}`;
  bench.add({ id: 'churn.events', what: sent, unit: 'events', wrapper: summarize([events]) });
}

async function measureReads(bench: Bench, id: string, what: string): Promise<void> {
  await measureLists(bench, id, what);
  await measureInTurns(
    bench,
    { id: `stream.${id}`, what: `streaming list, ${what}` },
    async (target) => await bench.client.stream(target, bench.options.streamsPerRound),
  );
}

async function measureLists(
  bench: Bench,
  id: string,
  what: string,
  encoding: Encoding = 'protobuf',
): Promise<void> {
  const bytes = await measureInTurns(
    bench,
    { id: `list.${id}`, what: `LIST, ${what}` },
    async (target) => await bench.client.list(target, bench.options.listsPerRound, encoding),
  );
  const size = (target: Target) => summarize([bytes[target] / 1e6]);
  bench.add({
    id: `bytes.${id}`,
    what: `LIST, ${what}: size`,
    unit: 'MB',
    direct: size('direct'),
    wrapper: size('wrapper'),
  });
}

/**
 * Notes the times of reads: direct and wrapper take turns, each first in every other round, after a warm-up. Returns
 * the size of an answer, in bytes.
 */
async function measureInTurns(
  bench: Bench,
  named: Pick<Measure, 'id' | 'what'>,
  read: (target: Target) => Promise<Times>,
): Promise<Record<Target, number>> {
  const turns = ['direct', 'wrapper'] as const;
  const ms: Record<Target, number[]> = { direct: [], wrapper: [] };
  const bytes: Record<Target, number> = { direct: 0, wrapper: 0 };
  for (const target of turns) await read(target);
  for (let round = 0; round < bench.options.rounds; round++) {
    for (const target of round % 2 === 0 ? turns : turns.toReversed()) {
      const times = await read(target);
      ms[target].push(...times.ms);
      bytes[target] = times.bytes;
    }
  }
  const [direct, wrapper] = [summarize(ms.direct), summarize(ms.wrapper)];
  bench.add({ ...named, unit: 'ms', direct, wrapper });
  return bytes;
}
