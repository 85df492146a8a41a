import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { STREAMING_LIST } from '../harness/streaming-list.ts';
import { startAdmin } from '../src/admin/admin.ts';
import { DEFAULT_LISTENER_LIMITS } from '../src/server/http/listener-limits.ts';
import { recordWatch } from '../test/support/guarantees/watch-recorder.ts';
import { createSmallCluster, putService } from '../test/support/wrapper/small-cluster.ts';
import { startWrapper } from '../test/support/wrapper/wrapper-fixture.ts';

/**
 * For how long one huge Service holds the process up: its explanation in each form, and an event of one of its
 * slices. `node bench/huge-service.ts --slices 20 --endpoints 1000 --ports 100 [--distinct]`
 */
const { values } = parseArgs({
  options: {
    slices: { type: 'string', default: '20' },
    endpoints: { type: 'string', default: '1000' },
    ports: { type: 'string', default: '100' },
    /** Each slice has ports of its own. */
    distinct: { type: 'boolean', default: false },
  },
});
const [slices, endpoints, ports] = [values.slices, values.endpoints, values.ports].map(Number) as [
  number,
  number,
  number,
];

const server = createSmallCluster();
putService(server, 'huge', ['kubernetes.io/hostname', 'site', '*']);
server.patch('services', 'huge', {
  spec: {
    clusterIP: '10.96.0.10',
    type: 'ClusterIP',
    ports: Array.from({ length: ports }, (_, n) => ({ name: `p${n}`, port: 1 + n })),
  },
});
for (let slice = 0; slice < slices; slice++) server.create('endpointslices', sliceOf(slice));
const proxy = await startWrapper(await server.listen());
const admin = await startAdmin({
  address: { host: '127.0.0.1', port: 0 },
  listenerLimits: DEFAULT_LISTENER_LIMITS,
  proxy,
  logger: pino({ level: 'silent' }),
});
const watches = await Promise.all(
  ['discovery.k8s.io/v1/endpointslices', 'services'].map(async (path) => {
    const group = path.includes('/') ? '/apis/' : '/api/v1/';
    return await recordWatch(`${proxy.url}${group}${path}`, STREAMING_LIST);
  }),
);
await watches[0]?.until(slices);
await delay(500);

const get = async (path: string): Promise<number> => {
  const response = await fetch(`${admin.url}${path}`);
  return (await response.arrayBuffer()).byteLength;
};
for (const path of ['/explain/default/huge', '/explain', '/diff/default/huge']) {
  await measure(path, () => get(path));
}
await measure('8 at once', async () => {
  const sizes = await Promise.all(Array.from({ length: 8 }, () => get('/explain/default/huge')));
  return sizes.reduce((sum, size) => sum + size, 0);
});
await measure('one slice event', async () => {
  const slice = sliceOf(0) as { endpoints: { conditions: object }[] };
  if (slice.endpoints[0]) slice.endpoints[0].conditions = { ready: false };
  server.update('endpointslices', slice as never);
  while (!watches[0]?.names().includes('MODIFIED huge-0')) await delay(1);
  return 0;
});
for (const watch of watches) await watch.close();
await admin.close();
await proxy.close();
await server.close();

/** Runs in this process, client included: what the client parses counts too, which only makes it worse. */
async function measure(name: string, work: () => Promise<number>): Promise<void> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  await delay(50);
  histogram.reset();
  const began = performance.now();
  const bytes = await work();
  const tookMs = performance.now() - began;
  await delay(20);
  histogram.disable();
  const blockedMs = histogram.max / 1e6;
  console.log(
    `${name.padEnd(24)} took ${tookMs.toFixed(0)} ms, blocked for ${blockedMs.toFixed(0)} ms, ${bytes} bytes`,
  );
}

function sliceOf(index: number) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `huge-${index}`,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'huge' },
    },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpoints }, (_, n) => ({
      addresses: [`10.${index & 255}.${n >> 8}.${n & 255}`],
      conditions: { ready: true },
      nodeName: `edge-${1 + (n % 3)}`,
    })),
    ports: Array.from({ length: ports }, (_, n) => ({
      name: values.distinct ? `p${index}-${n}` : `p${n}`,
      protocol: 'TCP',
      port: 1 + n,
    })),
  };
}
