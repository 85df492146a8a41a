import { setTimeout as sleep } from 'node:timers/promises';
import { addMemory, type Bench } from '../bench.ts';
import type { MeasuredWrapper } from '../wrapper.ts';
import { attackRelay } from './attack.ts';
import { AFTER_MS, CHANGED } from './boot.ts';
import { rowsOf } from './rows.ts';
import { type Snapshot, startSimulation, untilNewest } from './simulation.ts';
import { createSite, type Site } from './site.ts';

const NODES = 50;
const SMOKE_NODES = 4;
/** How much later than the nodes their relay starts, in seconds. */
const LATER = [5, 0];
/** Slices that change in a second while a relay is killed, and for how long before and after, in seconds. */
const KILLED = { slices: 50, before: 5, after: 10 };
const SMOKE_KILLED = { slices: 10, before: 1, after: 5 };

/** Fifty simulated nodes: their boot, what their relay needs, and how two relays share them. */
export async function measureSite(bench: Bench): Promise<void> {
  const count = bench.options.smoke ? SMOKE_NODES : NODES;
  const site = await createSite(bench, count);
  try {
    const alone = await bootOnce(bench, site, 1);
    await alone.stop();
    for (const later of bench.options.smoke ? [0] : LATER) {
      const booted = await bootOnce(bench, site, count, { later, alone });
      const { relay } = booted;
      if (later === 0 && relay !== undefined) await measureMemory(bench, site, relay, count);
      await booted.stop();
    }
    await measureTwoRelays(bench, site, count, alone.snapshot);
  } finally {
    await site.stop();
  }
}

interface Booted {
  /** MB that were received until all had the newest state. */
  readonly bytes: number;
  readonly relay: MeasuredWrapper | undefined;
  /** What one of the nodes has. */
  readonly snapshot: Snapshot;
  stop(): Promise<void>;
}

/** @param how much later the relay starts; undefined: there is none, and nothing is reported */
async function bootOnce(
  bench: Bench,
  site: Site,
  count: number,
  how?: { readonly later: number; readonly alone: Booted },
): Promise<Booted> {
  const { slices, seconds } = CHANGED;
  await bench.client.live({ seconds, slices: slices / seconds, heartbeats: 0 });
  const { version: target } = await site.mark();
  const simulation = startSimulation(bench, site, count);
  // It answers when it has started.
  await simulation.state();
  const later = how?.later;
  const where = `${count} simulated nodes boot, their relay ${later} s later`;
  if (later !== undefined) bench.progress(where);
  const before = site.received();
  const byNodes = site.link.nodes.received;
  await simulation.boot(how === undefined ? 0 : 1, target, how?.alone.snapshot);
  let relay: MeasuredWrapper | undefined;
  if (later !== undefined) {
    await sleep(later * 1_000);
    relay = await site.startRelay();
  }
  const nodes = await untilNewest(bench, simulation);
  await sleep(AFTER_MS);
  const bytes = site.received() - before;
  const stop = async (): Promise<void> => {
    await simulation.stop();
    await relay?.kill();
  };
  const booted = { bytes, relay, snapshot: nodes[0]?.versions ?? {}, stop };
  if (how === undefined) return booted;
  const add = rowsOf(bench, `site.${later}`, where);
  add(
    'bytes',
    'received until all have the newest state; direct: by one node',
    'MB',
    [bytes],
    how.alone.bytes,
  );
  const own = (site.link.nodes.received - byNodes) / 1e6;
  add('bytesOfNodes', 'of this by the nodes themselves', 'MB', [own]);
  const left = nodes.filter(({ switches }) => switches > 0);
  add('left', 'nodes that left the relay', 'nodes', [left.length]);
  const newest = nodes.map(({ newestMs = 0 }) => newestMs / 1_000);
  add('newest', 'start of the site to the newest state, each node', 's', newest);
  add('all', 'start of the site to the newest state, all nodes', 's', [Math.max(...newest)]);
  return booted;
}

async function measureMemory(
  bench: Bench,
  site: Site,
  relay: MeasuredWrapper,
  count: number,
): Promise<void> {
  const where = `a relay of ${count} simulated nodes`;
  const { peak } = relay.memory();
  await addMemory(bench, relay, 'site.memory', `${where}: memory`);
  const add = rowsOf(bench, 'site.memory', where);
  add('boot', 'memory, peak of the boot', 'MB', [peak]);
  bench.progress('watches at the relay that nobody reads');
  const attack = await attackRelay(bench, site, relay);
  const what = `memory, peak with ${attack.accepted} watches of another caller that reads none`;
  add('attack', what, 'MB', [attack.peak]);
}

/** How two relays share the nodes, and what becomes of these when one is killed. */
async function measureTwoRelays(
  bench: Bench,
  site: Site,
  count: number,
  snapshot: Snapshot,
): Promise<void> {
  const relays = await Promise.all([site.startRelay(0), site.startRelay(1)]);
  for (const relay of relays) await relay.ready();
  const simulation = startSimulation(bench, site, count, true);
  try {
    await bench.client.live({ seconds: 1, slices: 1, heartbeats: 0 });
    const { version } = await site.mark();
    await simulation.boot(relays.length, version, snapshot);
    const nodes = (await untilNewest(bench, simulation)).slice(1);
    await sleep(AFTER_MS);
    const atFirst = nodes.filter(({ relay }) => relay === site.relayHost(0));
    const where = `${count} simulated nodes and two relays`;
    const add = rowsOf(bench, 'site.two', where);
    add('share', 'share of the first one', '%', [(100 * atFirst.length) / count]);
    const { slices, before, after } = bench.options.smoke ? SMOKE_KILLED : KILLED;
    bench.progress(`a relay is killed under ${slices} changes a second`);
    await simulation.note();
    const life = bench.client.live({ seconds: before + after, slices, heartbeats: 0 });
    await sleep(before * 1_000);
    await relays[0].kill();
    const { slices: changed } = await life;
    await sleep(AFTER_MS);
    const late = await simulation.lateness();
    const moved = late.filter(({ name }) => atFirst.some((node) => node.name === name));
    const rate = `killed under ${(changed / (before + after)).toFixed(0)} changes/s`;
    const sum = (of: (node: (typeof late)[number]) => number) =>
      late.reduce((total, node) => total + of(node), 0);
    add('lost', `${rate}, lost events of all nodes`, 'events', [sum(({ lost }) => lost)]);
    add('lists', `${rate}, lists of Services and slices`, 'lists', [sum(({ lists }) => lists)]);
    const right = moved.map(({ mostMs }) => mostMs / 1_000);
    if (right.length > 0) add('right', `${rate}, right again, each node that it had`, 's', right);
    add('rightAll', `${rate}, right again, all nodes that it had`, 's', [Math.max(0, ...right)]);
  } finally {
    await simulation.stop();
    await Promise.all(relays.map(async (relay) => await relay.kill()));
  }
}
