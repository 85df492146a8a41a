import { setTimeout as sleep } from 'node:timers/promises';
import { testUsers } from '../test/e2e/support/control-plane.ts';
import { startTcpRelay, type TcpRelay } from '../test/support/tcp-relay.ts';
import { type Bench, withReadyWrapper } from './bench.ts';
import { type Measure, summarize } from './measure.ts';

/** Slices that change in a second while bytes are counted. */
const CHANGES_PER_SECOND = 10;
/** How many nodes a fleet has, and how often each writes its status, in seconds. */
const FLEET_NODES = 5_000;
const SMOKE_FLEET_NODES = 300;
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

/** A figure of a kube-proxy alone, and of the wrapper with its kube-proxy behind it. */
interface Pair {
  readonly alone: number;
  readonly wrapper: number;
}

/** Who asks the API server, each through a relay of its own that counts. */
interface Askers {
  readonly alone: TcpRelay;
  readonly wrapper: TcpRelay;
  /** When they began, in milliseconds since the epoch. */
  readonly since: number;
}

/** What the wrapper asks of the API server, compared to a kube-proxy alone, and with 50 local clients. */
export async function measureUpstream(bench: Bench): Promise<void> {
  const { client, options } = bench;
  await withAskers(bench, async (askers) => {
    const add = adder(bench, 'upstream');
    add('connections', 'API server: connections', 'connections', openConnections(askers));
    add(
      'requests.synced',
      'API server: requests until synced',
      'requests',
      requests(bench, askers),
    );
    add('bytes.synced', 'API server: received until synced', 'MB', received(askers));
    const renewals = scaled(openWatches(bench, askers), RENEWALS_PER_HOUR);
    add('requests', 'API server: requests an hour, as watches end', 'requests', renewals);
    const seconds = options.upstreamSeconds;
    const quiet = await receivedPerHour(askers, async () => await sleep(seconds * 1000));
    add('bytes.quiet', 'API server: received an hour, no events', 'MB', quiet);
    const live = { seconds, slices: CHANGES_PER_SECOND, heartbeats: 0 };
    const churn = `${CHANGES_PER_SECOND} slice events a second`;
    const busy = async () => await receivedPerHour(askers, async () => await client.live(live));
    add('bytes.churn', `API server: received an hour, ${churn}`, 'MB', await busy());
    await client.hold('wrapper', LOCAL_CLIENTS - 1);
    const many = `${LOCAL_CLIENTS} local clients`;
    add(
      'connections.50',
      `API server: connections, ${many}`,
      'connections',
      openConnections(askers),
    );
    add('bytes.churn.50', `API server: received an hour, ${many}, ${churn}`, 'MB', await busy());
    add('requests.all', 'API server: requests in all of that', 'requests', requests(bench, askers));
  });
}

/** Bytes that the wrapper receives in a cluster of many sites, whose nodes tell all the time that they are alive. */
export async function measureFleet(bench: Bench): Promise<void> {
  const { client, options } = bench;
  const { nodes: base, sites: baseSites } = options.world;
  const nodes = Math.max(base, options.smoke ? SMOKE_FLEET_NODES : FLEET_NODES);
  const sites = Math.ceil((nodes / base) * baseSites);
  await client.createFleet(sites);
  await client.annotate(FLEET_KEYS);
  await withAskers(bench, async (askers) => {
    const add = adder(bench, 'fleet');
    const what = `${nodes} nodes in ${sites} sites`;
    add('watches', `${what}: watches`, 'watches', openWatches(bench, askers));
    const heartbeats = nodes / HEARTBEAT_SECONDS;
    const life = { seconds: options.upstreamSeconds, slices: CHANGES_PER_SECOND, heartbeats };
    const bytes = await receivedPerHour(askers, async () => {
      const { slices, heartbeats } = await client.live(life);
      bench.progress(`${slices} slice events and ${heartbeats} heartbeats in ${life.seconds} s`);
    });
    const rates = `${heartbeats.toFixed(1)} heartbeats and ${CHANGES_PER_SECOND} slice events a second`;
    add('bytes', `${what}: received an hour, ${rates}`, 'MB', bytes);
  });
}

/** Starts a wrapper, and a kube-proxy beside it, and waits until both have all they ask for. */
async function withAskers(bench: Bench, use: (askers: Askers) => Promise<void>): Promise<void> {
  const { server } = bench.plane;
  const [alone, wrapper] = [await startTcpRelay(server), await startTcpRelay(server)];
  const since = Date.now();
  try {
    await bench.client.useAlone(alone.url);
    const synced = async () => {
      await bench.client.hold('alone');
      await sleep(bench.options.settleMs);
      await use({ alone, wrapper, since });
    };
    await withReadyWrapper(bench, synced, wrapper.url);
  } finally {
    await alone.close();
    await wrapper.close();
  }
}

/** Both see the same events, for both are watched at the same time. */
async function receivedPerHour(askers: Askers, during: () => Promise<unknown>): Promise<Pair> {
  const [before, start] = [received(askers), performance.now()];
  await during();
  const [after, hours] = [received(askers), (performance.now() - start) / 3_600_000];
  return {
    alone: (after.alone - before.alone) / hours,
    wrapper: (after.wrapper - before.wrapper) / hours,
  };
}

/** MB (10⁶ bytes) so far, TLS and all. */
function received({ alone, wrapper }: Askers): Pair {
  return { alone: alone.received / 1e6, wrapper: wrapper.received / 1e6 };
}

function openConnections({ alone, wrapper }: Askers): Pair {
  return { alone: alone.open, wrapper: wrapper.open };
}

function requests(bench: Bench, { since }: Askers): Pair {
  const count = (user: string) => bench.plane.requests({ user, since }).length;
  return { alone: count(testUsers.kubeProxy), wrapper: count(testUsers.wrapper) };
}

function openWatches(bench: Bench, { since }: Askers): Pair {
  const count = (user: string) =>
    bench.plane.requests({ user, since, verb: 'watch', open: true }).length;
  return { alone: count(testUsers.kubeProxy), wrapper: count(testUsers.wrapper) };
}

function scaled({ alone, wrapper }: Pair, factor: number): Pair {
  return { alone: alone * factor, wrapper: wrapper * factor };
}

function adder(bench: Bench, part: string) {
  return (id: string, what: string, unit: Measure['unit'], { alone, wrapper }: Pair): void =>
    bench.add({
      id: `${part}.${id}`,
      what,
      unit,
      direct: summarize([alone]),
      wrapper: summarize([wrapper]),
    });
}
