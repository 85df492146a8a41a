import { expect, jest, test } from '@jest/globals';
import { chooseSeed, createRandom, type Random } from '../../harness/random.ts';
import { eventually } from '../support/eventually.ts';
import { checkGuarantees } from '../support/guarantees/watch-guarantees.ts';
import { sendRequest } from '../support/recorder/exchange.ts';
import { follow } from '../support/recorder/follow.ts';
import { stateAfter, toClientRecord } from '../support/recorder/read-records.ts';
import { type RecordedObject, toRecord } from '../support/recorder/written-object.ts';
import type { WrittenRecord } from '../support/recorder/written-record.ts';
import { RelayedCluster } from '../support/relay/relayed-cluster.ts';

jest.setTimeout(120_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=site%3Da';
/** How long each client is moved about at least, in milliseconds. */
const RUN_MS = 6_000;
const CLIENTS = 8;

/** Sends each request to any server, and leaves its watches after some events. */
function moving(cluster: RelayedCluster, random: Random): typeof sendRequest {
  return async (requested, options) => {
    const { pathname, search } = new URL(requested);
    const server = cluster.anyServer();
    const response = await sendRequest(server + pathname + search, { ...options, token: 'node' });
    let left = random.below(20);
    const leavesAtBookmark = random.chance(0.5);
    return {
      ...response,
      batches: async function* () {
        for await (const lines of response.batches()) {
          yield lines.slice(0, left);
          left -= lines.length;
          if (left <= 0) return;
          if (leavesAtBookmark && lines.at(-1)?.includes('"BOOKMARK"')) return;
        }
      },
    };
  };
}

test('a client that is moved between relays and the API server gets each change once, in order', async () => {
  const seed = chooseSeed();
  const random = createRandom(seed);
  const cluster = await RelayedCluster.start(random);
  const records = new Map<string, WrittenRecord[]>();
  const stopped = new AbortController();
  const followers: Promise<void>[] = [];
  const start = (name: string, send: typeof sendRequest): void => {
    const own: WrittenRecord[] = [];
    records.set(name, own);
    // The versions of relays and API server are those of one etcd.
    const receive = (record: Parameters<typeof toRecord>[0]): void => {
      own.push({ ...toRecord(record), process: 'etcd' });
    };
    const options = {
      url: `https://any${SLICES}`,
      mode: 'list',
      watchSeconds: 2,
      pauseMs: 5,
    } as const;
    followers.push(follow<RecordedObject>(options, { receive }, stopped.signal, send));
  };
  // It stays at the API server: what it receives is what happened.
  start('steady', (url, options) => sendRequest(url.replace('https://any', cluster.api), options));
  for (let n = 0; n < CLIENTS; n++) start(`moved ${n}`, moving(cluster, random));
  await eventually(() => [...records.values()].every(({ length }) => length > 0), true);
  const watches = () => [...records.values()].flat().filter(({ kind }) => kind === 'watch').length;
  for (let ms = RUN_MS; ms > 0; ms = watches() > 5 * CLIENTS ? 0 : 1_000) await cluster.disturb(ms);
  const newest = (own: readonly WrittenRecord[]): string =>
    JSON.stringify([...stateAfter(own)].sort());
  await eventually(() => {
    const states = new Set([...records.values()].map(newest));
    return states.size;
  }, 1).finally(() => stopped.abort());
  await Promise.all(followers);
  const clients = [...records].map(([name, own]) => [name, own.map(toClientRecord)] as const);
  expect({ seed, found: checkGuarantees(new Map(clients)) }).toEqual({ seed, found: [] });
});
