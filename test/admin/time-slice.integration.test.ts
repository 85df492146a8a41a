import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Gauge, Registry } from '@prometheus-io/client';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../harness/streaming-list.ts';
import { summarizeServices } from '../../src/admin/explain/service-summaries.ts';
import { TimeSlice } from '../../src/admin/explain/time-slice.ts';
import { metricsText } from '../../src/admin/metrics/metrics-text.ts';
import { policyLines } from '../../src/admin/status/policy-lines.ts';
import { NodeReader } from '../../src/diagnosis/reading/node-reading.ts';
import { tallyServices } from '../../src/diagnosis/reading/service-tally.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { advancingClock } from '../support/advancing-clock.ts';
import type { WatchRecorder } from '../support/guarantees/watch-recorder.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../support/wrapper/use.ts';

const SERVICES = ['a', 'b', 'c'];

const clock = advancingClock();

let server: ApiServer;
let proxy: NodeProxy;
let watch: WatchRecorder;

beforeEach(async () => {
  server = useCluster();
  for (const name of SERVICES) {
    putService(server, name, ['site', '*']);
    putSlice(server, `${name}-1`, name, [{ ip: '10.0.0.2', node: 'edge-2' }]);
  }
  proxy = await useWrapper(await server.listen());
  watch = await useWatch(`${proxy.url}/apis/discovery.k8s.io/v1/endpointslices`, STREAMING_LIST);
  await watch.until(SERVICES.length);
});

afterEach(async () => {
  jest.restoreAllMocks();
});

/** Makes each Service slow. Returns the turn of the event loop in which each Service was read. */
async function turnsOf(work: () => Promise<unknown>): Promise<number[]> {
  const codecs = new Set(proxy.views.sources.map(({ view }) => view.codec));
  const turns: number[] = [];
  await countTurns((now) => {
    for (const codec of codecs) {
      const read = codec.service.bind(codec);
      jest.spyOn(codec, 'service').mockImplementation((object) => {
        clock.advance(20);
        turns.push(now());
        return read(object);
      });
    }
    return work();
  });
  return turns;
}

/** Number of turns of the event loop that other work had meanwhile. @param work gets how many it had until now */
async function countTurns(work: (now: () => number) => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await work(() => turns);
  clearImmediate(next);
  return turns;
}

const slice = () => new TimeSlice(new AbortController().signal);

// A slice was once a number of Services: 50 with 10,000 endpoints each delayed traffic by 0.6 s.
test('/explain lets other work run after each slow Service', async () => {
  const turns = await turnsOf(() =>
    summarizeServices(new NodeReader(proxy), { warnings: false, after: '', limit: 500 }, slice()),
  );
  expect(turns).toHaveLength(SERVICES.length);
  expect(new Set(turns).size).toBe(SERVICES.length);
});

test('the label selector of /explain lets other work run after each slow Service', async () => {
  const codecs = new Set(proxy.views.sources.map(({ view }) => view.codec));
  for (const codec of codecs) {
    const read = codec.partialMetadata.bind(codec);
    jest.spyOn(codec, 'partialMetadata').mockImplementation((object) => {
      clock.advance(20);
      return read(object);
    });
  }
  const options = { labelSelector: 'a=b', warnings: false, after: '', limit: 500 };
  const turns = await countTurns(() => summarizeServices(new NodeReader(proxy), options, slice()));
  expect(turns).toBeGreaterThanOrEqual(SERVICES.length - 1);
});

// Tenants may use 16 keys per Service.
test('/status lets other work run after each slow key', async () => {
  const { topology } = proxy;
  const match = topology.matchOf.bind(topology);
  jest.spyOn(topology, 'matchOf').mockImplementation((key) => {
    clock.advance(20);
    return match(key);
  });
  const keys = [...topology.policies.keysInUse()];
  const { problems } = tallyServices({ outcomes: function* () {} });
  const turns = await countTurns(() => policyLines(topology, problems, undefined, slice()));
  expect(keys).toHaveLength(2);
  expect(turns).toBeGreaterThanOrEqual(keys.length - 1);
});

describe('/metrics', () => {
  /** A registry with metrics that each take long, and the number of their reads. */
  function slowMetrics(count: number) {
    const registry = new Registry();
    let reads = 0;
    for (let index = 0; index < count; index++) {
      new Gauge({
        name: `slow_${index}`,
        help: 'x',
        registers: [registry],
        collect() {
          clock.advance(20);
          this.set(++reads);
        },
      });
    }
    return { registry, text: metricsText({ registry, read: () => {} }), reads: () => reads };
  }

  test('lets other work run after each slow metric, and is what the library renders', async () => {
    const { registry, text } = slowMetrics(3);
    const turns = await countTurns(() => text.get());
    expect(turns).toBeGreaterThanOrEqual(3);
    const again = await registry.metrics();
    expect(await text.get()).toBe(again.replace(/[456]$/gm, (value) => `${+value - 3}`));
  });

  test('is read once for all requests of a second', async () => {
    const { text, reads } = slowMetrics(1);
    const [first, second] = await Promise.all([text.get(), text.get()]);
    expect([second, await text.get(), reads()]).toEqual([first, first, 1]);
    clock.advance(1_000);
    expect(await text.get()).not.toBe(first);
    expect(reads()).toBe(2);
  });
});

test('work ends when its request is aborted', async () => {
  const slice = new TimeSlice(AbortSignal.abort(new Error('gone')));
  clock.advance(20);
  await expect(slice.pause()).rejects.toThrow('gone');
});
