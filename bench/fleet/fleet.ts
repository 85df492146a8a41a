import { setTimeout as sleep } from 'node:timers/promises';
import { addMemory, type Bench, cpuShares } from '../bench.ts';
import { type Measure, type Summary, summarize } from '../measure.ts';
import {
  adder,
  CHANGES_PER_SECOND,
  measureHour,
  openWatches,
  received,
  withAskers,
} from '../upstream.ts';
import type { MeasuredWrapper } from '../wrapper.ts';
import { AFTER_MS } from './boot.ts';
import { startSimulation, untilNewest } from './simulation.ts';
import { createSite, SITE_KEY, type Site, ZONE_KEY } from './site.ts';

/** How many nodes a fleet has, and how often each writes its status, in seconds. */
const FLEET_NODES = 5_000;
const SMOKE_FLEET_NODES = 1_200;
/** Nodes of the site that shares a relay, in a smoke run. */
const SMOKE_SITE_NODES = 2;
const HEARTBEAT_SECONDS = 300;
const FLEET_KEYS = ['kubernetes.io/hostname', SITE_KEY, ZONE_KEY, '*'];

/** What the wrapper receives in a cluster of many sites, whose nodes tell all the time that they are alive. */
export async function measureFleet(bench: Bench): Promise<void> {
  const { client, options } = bench;
  const { nodes: base, sites: baseSites } = options.cluster;
  const nodes = Math.max(base, options.smoke ? SMOKE_FLEET_NODES : FLEET_NODES);
  const sites = Math.ceil((nodes / base) * baseSites);
  await client.createFleet(sites);
  await client.annotate(FLEET_KEYS);
  const where = `${nodes} nodes in ${sites} sites`;
  await withAskers(bench, async (askers, wrapper) => {
    const add = adder(bench, 'fleet', where);
    const watches = openWatches(bench, askers);
    const oneNode = received(askers).wrapper;
    const count = options.smoke ? SMOKE_SITE_NODES : nodes / sites;
    const site = await createSite(bench, count);
    const each = adder(bench, 'fleet.site', `site of ${count} with a relay, simulated nodes`);
    const addSite = (id: string, what: string, unit: Measure['unit'], alone: number, all: number) =>
      each(id, `${what}, for each node`, unit, { alone, wrapper: all / count });
    const simulation = startSimulation(bench, site, count);
    try {
      const relay = await site.startRelay();
      await relay.ready();
      const { version } = await site.mark();
      await simulation.boot(1, version);
      await untilNewest(bench, simulation);
      await sleep(AFTER_MS);
      add('watches', 'watches', 'watches', watches);
      const all = openWatches(bench, askers).wrapper - watches.wrapper;
      addSite('watches', 'watches', 'watches', watches.alone, all);
      const { relays, nodes: direct } = site.link;
      const open = relays.open + direct.open;
      addSite('connections', 'connections', 'connections', askers.alone.open, open);
      const start = 'received until all are synced; direct: by one wrapper';
      each('start', start, 'MB', { alone: oneNode, wrapper: site.received() });
      const seconds = options.upstreamSeconds;
      const addHour = async (id: string, changes: number) => {
        let rates = '';
        let cpu = 0;
        const hour = await measureHour(bench, { ...askers, site }, async () => {
          const life = { seconds, slices: changes, heartbeats: nodes / HEARTBEAT_SECONDS };
          [cpu = 0] = await cpuShares([wrapper], async () => {
            const { slices, heartbeats } = await client.live(life);
            const perSecond = (changed: number) => (changed / seconds).toFixed(1);
            rates = `${perSecond(heartbeats)} heartbeats/s, ${perSecond(slices)} slice events/s`;
          });
        });
        const what = `received an hour, ${rates}`;
        add(`bytes.${id}`, what, 'MB', hour.received);
        addSite(`bytes.${id}`, what, 'MB', hour.received.alone, hour.received.site);
        bench.add({
          id: `fleet.cpu.${id}`,
          what: `${where}: CPU, ${rates}`,
          unit: '% of a core',
          wrapper: summarize([cpu]),
        });
      };
      await addHour('idle', 0);
      await addHour('busy', CHANGES_PER_SECOND);
      await addMemory(bench, wrapper, 'fleet.memory', `${where}: memory`);
      const ofSite = `site of ${count} with a relay, simulated nodes`;
      await addMemory(bench, relay, 'fleet.site.memory', `${ofSite}: memory of the relay`);
      await client.release();
      await simulation.stop();
      bench.add({
        id: 'fleet.site.added',
        what: 'a real node with a relay: watch event, added by the relay',
        unit: 'ms',
        wrapper: await timeRelay(bench, wrapper, await startOwn(bench, site)),
      });
    } finally {
      await simulation.stop();
      await site.stop();
      await client.useWrapper(wrapper.url);
    }
  });
}

/** A real node of our own, with the watches of a kube-proxy. */
async function startOwn({ client }: Bench, site: Site): Promise<MeasuredWrapper> {
  const own = await site.startNode(0);
  await client.useWrapper(own.url);
  await client.firstList('wrapper');
  await client.hold('wrapper');
  await own.ready();
  await sleep(AFTER_MS);
  await client.release();
  return own;
}

/**
 * How much later a watch event reaches the client of a wrapper when that reads from a relay, in milliseconds: for each
 * round the difference of the medians. Nothing else may use the cores.
 */
async function timeRelay(
  { client, options }: Bench,
  alone: MeasuredWrapper,
  own: MeasuredWrapper,
): Promise<Summary> {
  const added: number[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    const median = async ({ url }: MeasuredWrapper): Promise<number> => {
      await client.useWrapper(url);
      return summarize((await client.latency(1, 20, 10)).added).p50;
    };
    const [direct, relay] = [await median(alone), await median(own)];
    // The first round warms up.
    if (round > 0) added.push(relay - direct);
  }
  return summarize(added);
}
