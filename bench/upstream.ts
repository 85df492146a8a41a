import { setTimeout as sleep } from 'node:timers/promises';
import { testUsers } from '../harness/api-server/control-plane.ts';
import { startUrlFront, type UrlFront } from '../harness/network/tcp-front.ts';
import { type Bench, withReadyWrapper } from './bench.ts';
import type { Site } from './fleet/site.ts';
import { type Measure, summarize } from './measure.ts';
import type { MeasuredWrapper } from './wrapper.ts';

/** Slices that change in a second while bytes are counted. */
export const CHANGES_PER_SECOND = 10;
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
  /** All nodes of a site that share a relay; 0 without one. */
  readonly site: number;
}

/** The clients of the API server, each through its own TCP relay that counts. */
interface Askers {
  readonly alone: UrlFront;
  readonly wrapper: UrlFront;
  readonly site?: Pick<Site, 'received'>;
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

/** Starts a wrapper, and a kube-proxy beside it, and waits until both are synced. */
export async function withAskers(
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
export async function measureHour(
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
export function received({ alone, wrapper, site }: Askers): Received {
  return {
    alone: alone.received / 1e6,
    wrapper: wrapper.received / 1e6,
    site: site?.received() ?? 0,
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

export function openWatches(bench: Bench, { since }: Askers): Pair {
  const count = (user: string) =>
    bench.plane.requests({ user, since, verb: 'watch', open: true }).length;
  return { alone: count(testUsers.kubeProxy), wrapper: count(testUsers.wrapper) };
}

export function adder(bench: Bench, part: string, where: string) {
  return (id: string, what: string, unit: Measure['unit'], { alone, wrapper }: Pair): void =>
    bench.add({
      id: `${part}.${id}`,
      what: `${where}: ${what}`,
      unit,
      direct: summarize([alone]),
      wrapper: summarize([wrapper]),
    });
}
