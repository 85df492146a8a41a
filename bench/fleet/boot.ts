import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../../src/util/with-timeout.ts';
import type { Bench } from '../bench.ts';
import { summarize } from '../measure.ts';
import type { MeasuredWrapper } from '../wrapper.ts';
import { type FollowedWrapper, followWrapper } from './follow.ts';
import { rowsOf } from './rows.ts';
import { BOOT_MS } from './simulation.ts';
import { createSite, nodeName, type Site } from './site.ts';

/** How many real nodes start at once on the cores of this machine. */
const NODES = 10;
const SMOKE_NODES = 2;
/** How much later than the nodes their relay starts, in seconds. */
const LATER = [0, 5];
/** Slices that change while there is no power, and in which time, in seconds. */
export const CHANGED = { slices: 100, seconds: 10 };
/** How long node sets open after the views, and snapshots are written after a change, in milliseconds. */
export const AFTER_MS = 2_000;
const WRITTEN_MS = 5_000;
/** No endpoint has it. */
const NO_MARK = 'none';
/** What a wrapper logs that reads from the API server itself. */
const LEFT = 'an API server is used instead of a relay';

/** A real node, and the kube-proxy beside it. */
interface Node {
  readonly wrapper: MeasuredWrapper;
  readonly proxy: FollowedWrapper;
}

/** Real nodes with snapshots that boot with their relay, as after a power cut. */
export async function measureBoot(bench: Bench): Promise<void> {
  const { options } = bench;
  const count = options.smoke ? SMOKE_NODES : NODES;
  const site = await createSite(bench, count);
  try {
    const before = site.received();
    await takeSnapshots(bench, site, 1, false);
    const oneNode = site.received() - before;
    bench.progress(`snapshots of ${count} nodes`);
    await takeSnapshots(bench, site, count, true);
    await measureRules(bench, site);
    for (const later of options.smoke ? [0] : LATER) {
      const mark = await changeMeanwhile(bench, site);
      await bootOnce(bench, site, { count, later, oneNode, mark });
    }
  } finally {
    await site.stop();
  }
}

/** Lets slices change, and returns the mark after it. */
async function changeMeanwhile(bench: Bench, site: Site): Promise<string> {
  const { slices, seconds } = CHANGED;
  await bench.client.live({ seconds, slices: slices / seconds, heartbeats: 0 });
  return (await site.mark()).address;
}

/** Lets nodes run until they have snapshots; with a relay, or each by itself. */
async function takeSnapshots(
  bench: Bench,
  site: Site,
  count: number,
  hasRelay: boolean,
): Promise<void> {
  const { address } = await site.mark();
  const relay = hasRelay ? await site.startRelay() : undefined;
  await relay?.ready();
  const nodes = await startNodes(site, count, 'before', address);
  await all(nodes, ({ newest }) => newest);
  await all(nodes, ({ complete }) => complete);
  await sleep(WRITTEN_MS + (bench.options.smoke ? 0 : bench.options.settleMs));
  await cutPower(nodes, relay);
}

/** The time to the rules of the snapshot, of a node that is alone on this machine and has no relay yet. */
async function measureRules(bench: Bench, site: Site): Promise<void> {
  const times: number[] = [];
  for (let start = 0; start < bench.options.starts; start++) {
    const nodes = await startNodes(site, 1, `alone ${start}`, NO_MARK);
    times.push(...(await rulesOf(nodes)));
    await cutPower(nodes);
  }
  const what = 'a real node boots, alone on this machine: its start to the rules of the snapshot';
  bench.add({ id: 'boot.rules.alone', what, unit: 's', wrapper: summarize(times) });
}

interface Boot {
  readonly count: number;
  readonly later: number;
  readonly oneNode: number;
  readonly mark: string;
}

async function bootOnce(bench: Bench, site: Site, boot: Boot): Promise<void> {
  const { count, later, oneNode, mark } = boot;
  const where = `${count} real nodes boot, their relay ${later} s later`;
  bench.progress(where);
  const before = site.received();
  const byNodes = site.link.nodes.received;
  const at = performance.timeOrigin + performance.now();
  const starting = sleep(later * 1_000).then(async () => await site.startRelay());
  const nodes = await startNodes(site, count, `boot ${later}`, mark);
  const relay = await starting;
  const newest = await all(nodes, ({ newest }) => newest).catch((error: unknown) => {
    for (const { wrapper } of nodes) bench.progress(wrapper.log().slice(-2_000));
    throw error;
  });
  const seconds = newest.map((each) => (each - at) / 1_000);
  const rules = await rulesOf(nodes);
  const late = (await all(nodes, ({ complete }) => complete)).filter(({ hasMark }) => hasMark);
  if (late.length > 0) bench.progress(`${late.length} nodes did not need their snapshot`);
  await sleep(AFTER_MS);
  const add = rowsOf(bench, `boot.${later}`, where);
  const bytes = 'received until all have the newest state; direct: by one node';
  add('bytes', bytes, 'MB', [site.received() - before], oneNode);
  add('bytesOfNodes', 'of this by the nodes themselves', 'MB', [
    (site.link.nodes.received - byNodes) / 1e6,
  ]);
  const left = nodes.filter(({ wrapper }) => wrapper.log().includes(LEFT));
  add('left', 'nodes that read from the API server themselves', 'nodes', [left.length]);
  for (const { wrapper } of left) bench.progress(linesWith(wrapper.log(), LEFT));
  add('rules', 'start of a node to its first rules', 's', rules);
  add('newest', 'start of the site to the newest state, each node', 's', seconds);
  add('all', 'start of the site to the newest state, all nodes', 's', [Math.max(...seconds)]);
  await bench.client.useWrapper(nodes[0]?.wrapper.url ?? '', nodeName(0));
  await bench.client.verify('wrapper', true);
  await cutPower(nodes, relay);
}

async function startNodes(
  site: Site,
  count: number,
  bootId: string,
  mark: string,
): Promise<readonly Node[]> {
  const numbers = Array.from({ length: count }, (_, n) => n);
  return await Promise.all(
    numbers.map(async (n) => {
      const wrapper = await site.startNode(n, bootId);
      return { wrapper, proxy: followWrapper(wrapper.url, nodeName(n), mark) };
    }),
  );
}

/** From the start of each node until its kube-proxy had all objects, in seconds. */
async function rulesOf(nodes: readonly Node[]): Promise<number[]> {
  const complete = await all(nodes, ({ complete }) => complete);
  return complete.map(({ at }, n) => (at - (nodes[n]?.wrapper.startedAt ?? 0)) / 1_000);
}

async function all<T>(
  nodes: readonly Node[],
  what: (proxy: FollowedWrapper) => Promise<T>,
): Promise<T[]> {
  return await withTimeout(BOOT_MS, Promise.all(nodes.map(async ({ proxy }) => await what(proxy))));
}

async function cutPower(nodes: readonly Node[], relay?: MeasuredWrapper): Promise<void> {
  await Promise.all(nodes.map(async ({ proxy }) => await proxy.stop()));
  await Promise.all([relay, ...nodes.map(({ wrapper }) => wrapper)].map((each) => each?.kill()));
}

/** For the progress: why a node left its relay. */
export function linesWith(log: string, text: string): string {
  const lines = log.split('\n').filter((line) => line.includes(text));
  return lines.join('\n');
}
