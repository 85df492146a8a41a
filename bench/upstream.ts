import { setTimeout as sleep } from 'node:timers/promises';
import { testUsers } from '../harness/api-server/control-plane.ts';
import { startUrlFront, type UrlFront } from '../harness/network/tcp-front.ts';
import { addMemory, type Bench, cpuShares, withReadyWrapper } from './bench.ts';
import { type Measure, summarize } from './measure.ts';
import { startSite, timeRelay } from './site.ts';
import type { MeasuredWrapper } from './wrapper.ts';

/** Slices that change in a second while bytes are counted. */
const CHANGES_PER_SECOND = 10;
/** How many nodes a fleet has, and how often each writes its status, in seconds. */
const FLEET_NODES = 5_000;
const SMOKE_FLEET_NODES = 1_200;
/** Nodes of the site that shares a relay, in a smoke run. */
const SMOKE_SITE_NODES = 2;
const HEARTBEAT_SECONDS = 300;
const FLEET_KEYS = [
  'kubernetes.io/hostname',
  'bench.example/site',
  'topology.kubernetes.io/zone',
  '*',
];
const LOCAL_CLIENTS = 50;
/** Client-go and the wrapper let a watch last 5 to 10 minutes. */
const RENEWALS_PER_HOUR = 3600 / 450;
const SHORTEST_WATCH_MS = 300_000;

/** A figure of a kube-proxy alone, and of the wrapper with its kube-proxy behind it. */
interface Pair {
  readonly alone: number;
  readonly wrapper: number;
}

interface Received extends Pair {
  /** All nodes of a site that share a relay of ours; 0 without one. */
  readonly site: number;
}

/** The clients of the API server, each through its own TCP relay that counts. */
interface Askers {
  readonly alone: UrlFront;
  readonly wrapper: UrlFront;
  readonly site?: UrlFront;
  /** When they began, in milliseconds since the epoch. */
  readonly since: number;
}

/** The requests of the wrapper to the API server, compared with a kube-proxy alone, and with 50 local clients. */
export async function measureUpstream(bench: Bench): Promise<void> {
  const { client, options } = bench;
  const seconds = options.upstreamSeconds;
  await withAskers(bench, async (askers) => {
    const add = adder(bench, 'upstream', 'API server');
    add('connections', 'connections', 'connections', openConnections(askers));
    add('requests.synced', 'requests until synced', 'requests', requests(bench, askers.since));
    add('bytes.synced', 'received until synced', 'MB', received(askers));
    const addHour = async (id: string, what: string, during: () => Promise<unknown>) => {
      const hour = await measureHour(bench, askers, during);
      add(`requests.${id}`, `requests an hour, ${what}`, 'requests', hour.requests);
      add(`bytes.${id}`, `received an hour, ${what}`, 'MB', hour.received);
    };
    await addHour('quiet', 'no events', async () => await sleep(options.quietSeconds * 1000));
    const churn = async () =>
      await client.live({ seconds, slices: CHANGES_PER_SECOND, heartbeats: 0 });
    const rate = `${CHANGES_PER_SECOND} slice events/s`;
    await addHour('churn', rate, churn);
    await client.hold('wrapper', LOCAL_CLIENTS - 1);
    const many = `${LOCAL_CLIENTS} local clients`;
    add('connections.many', `connections, ${many}`, 'connections', openConnections(askers));
    await addHour('many', `${rate}, ${many}`, churn);
  });
}

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
    const site = await startSite(bench, count);
    const each = adder(bench, 'fleet.site', `site of ${count} with a relay`);
    const addSite = (id: string, what: string, unit: Measure['unit'], alone: number, all: number) =>
      each(id, `${what}, for each node`, unit, { alone, wrapper: all / count });
    try {
      add('watches', 'watches', 'watches', watches);
      const all = openWatches(bench, askers).wrapper - watches.wrapper;
      addSite('watches', 'watches', 'watches', watches.alone, all);
      addSite('connections', 'connections', 'connections', askers.alone.open, site.link.open);
      const start = 'received until all are synced; direct: by one wrapper';
      each('start', start, 'MB', { alone: oneNode, wrapper: site.startMB });
      const seconds = options.upstreamSeconds;
      const addHour = async (id: string, changes: number) => {
        let rates = '';
        let cpu = 0;
        const hour = await measureHour(bench, { ...askers, site: site.link }, async () => {
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
      await addMemory(
        bench,
        site.relay,
        'fleet.site.memory',
        `site of ${count} with a relay: memory of the relay`,
      );
      await client.release();
      await site.stopOthers();
      bench.add({
        id: 'fleet.site.added',
        what: `site of ${count} with a relay: watch event, added by the relay`,
        unit: 'ms',
        wrapper: await timeRelay(bench, wrapper, site),
      });
    } finally {
      await site.stop();
      await client.useWrapper(wrapper.url);
    }
  });
}

/** Starts a wrapper, and a kube-proxy beside it, and waits until both are synced. */
async function withAskers(
  bench: Bench,
  use: (askers: Askers, wrapper: MeasuredWrapper) => Promise<void>,
): Promise<void> {
  const { server } = bench.plane;
  const [alone, wrapper] = [await startUrlFront(server), await startUrlFront(server)];
  const since = Date.now();
  try {
    await bench.client.useAlone(alone.url);
    const synced = async (measured: MeasuredWrapper) => {
      await bench.client.hold('alone');
      // A wrapper that serves nothing, or wrong data, would send few requests.
      await bench.client.verify('wrapper', true);
      await use({ alone, wrapper, since }, measured);
      await bench.client.verify('wrapper', true);
    };
    await withReadyWrapper(bench, synced, wrapper.url);
  } finally {
    await alone.close();
    await wrapper.close();
  }
}

/** What is asked for and received in an hour like that. Both see the same events, for both are measured at a time. */
async function measureHour(
  bench: Bench,
  askers: Askers,
  during: () => Promise<unknown>,
): Promise<{ readonly requests: Pair; readonly received: Received }> {
  const [before, since, start] = [received(askers), Date.now(), performance.now()];
  await during();
  const hours = (performance.now() - start) / 3_600_000;
  const after = received(askers);
  const asked = requests(bench, since);
  const renewed = openWatches(bench, askers);
  const requestsOf = (who: keyof Pair) => asked[who] / hours + renewed[who] * RENEWALS_PER_HOUR;
  const receivedOf = (who: keyof Received) => (after[who] - before[who]) / hours;
  return {
    requests: { alone: requestsOf('alone'), wrapper: requestsOf('wrapper') },
    received: {
      alone: receivedOf('alone'),
      wrapper: receivedOf('wrapper'),
      site: receivedOf('site'),
    },
  };
}

/** MB (10⁶ bytes) so far, TLS and all. */
function received({ alone, wrapper, site }: Askers): Received {
  return {
    alone: alone.received / 1e6,
    wrapper: wrapper.received / 1e6,
    site: (site?.received ?? 0) / 1e6,
  };
}

function openConnections({ alone, wrapper }: Askers): Pair {
  return { alone: alone.open, wrapper: wrapper.open };
}

/**
 * Requests since a time (milliseconds since the epoch), without the watches that follow one which has ended in its
 * time: those are known for an hour, and a short window has them by chance.
 */
function requests(bench: Bench, since: number): Pair {
  const count = (user: string) => {
    const all = bench.plane.requests({ user });
    const sent = all.filter(({ receivedAt }) => receivedAt >= since);
    const renewed = all.filter(
      ({ verb, open, receivedAt, answeredAt }) =>
        verb === 'watch' &&
        !open &&
        answeredAt >= since &&
        answeredAt - receivedAt >= SHORTEST_WATCH_MS,
    );
    return sent.length - renewed.length;
  };
  return { alone: count(testUsers.kubeProxy), wrapper: count(testUsers.wrapper) };
}

function openWatches(bench: Bench, { since }: Askers): Pair {
  const count = (user: string) =>
    bench.plane.requests({ user, since, verb: 'watch', open: true }).length;
  return { alone: count(testUsers.kubeProxy), wrapper: count(testUsers.wrapper) };
}

function adder(bench: Bench, part: string, where: string) {
  return (id: string, what: string, unit: Measure['unit'], { alone, wrapper }: Pair): void =>
    bench.add({
      id: `${part}.${id}`,
      what: `${where}: ${what}`,
      unit,
      direct: summarize([alone]),
      wrapper: summarize([wrapper]),
    });
}
