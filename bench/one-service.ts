import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { kubeconfigFor } from '../fake-apiserver/kubeconfig.ts';
import { freePorts } from '../harness/network/free-port.ts';
import { STREAMING_LIST } from '../harness/streaming-list.ts';
import { CURRENT_SLICES } from '../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../src/client/api/query.ts';
import { recordWatch } from '../test/support/guarantees/watch-recorder.ts';
import { startProcess } from '../test/support/process/wrapper-process.ts';
import { createSmallCluster, putService } from '../test/support/wrapper/small-cluster.ts';
import { createProcessUsage } from './process-usage.ts';

/**
 * Slices that are created one by one, all of one Service, and then each of a Service of its own: the CPU time of the
 * wrapper, and the slowest answer of its /healthz meanwhile.
 * `node bench/one-service.ts --slices 4000 --endpoints 1 --rate 1000`
 */
const { values } = parseArgs({
  options: {
    slices: { type: 'string', default: '4000' },
    endpoints: { type: 'string', default: '1' },
    /** Slices in a second; 0: as fast as they are made. */
    rate: { type: 'string', default: '0' },
    rounds: { type: 'string', default: '3' },
  },
});
const slices = Number(values.slices);
const endpoints = Number(values.endpoints);
const rate = Number(values.rate);
const SLICES = queryPath(CURRENT_SLICES).split('?')[0];
const KEYS = ['kubernetes.io/hostname', 'site', '*'];
/** Polls a URL until it is told to stop; answers with the longest time in milliseconds. */
const POLLER = `
  const { parentPort, workerData } = require('node:worker_threads');
  let slowest = 0, stopped = false;
  parentPort.on('message', () => { stopped = true; });
  (async () => {
    while (!stopped) {
      const began = performance.now();
      await (await fetch(workerData, { headers: { connection: 'close' } })).text();
      slowest = Math.max(slowest, performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    parentPort.postMessage(slowest);
    parentPort.close();
  })();
`;

for (let round = 0; round < Number(values.rounds); round++) {
  const many = await measure((slice) => `service-${slice}`);
  const one = await measure(() => 'service-0');
  const ratio = (one.cpu / many.cpu).toFixed(2);
  console.log(`${slices} Services: ${text(many)}; one Service: ${text(one)}; ratio ${ratio}`);
}

function text({ cpu, slowest, seconds }: Awaited<ReturnType<typeof measure>>): string {
  return `${cpu.toFixed(2)} s of CPU in ${seconds.toFixed(1)} s, /healthz ${slowest.toFixed(0)} ms`;
}

async function measure(serviceOf: (slice: number) => string) {
  const server = createSmallCluster();
  const services = new Set(Array.from({ length: slices }, (_, slice) => serviceOf(slice)));
  for (const service of services) putService(server, service, KEYS);
  const folder = mkdtempSync(join(tmpdir(), 'kpw-one-service-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(await server.listen()));
  const [port, adminPort] = await freePorts(2);
  const admin = `127.0.0.1:${adminPort}`;
  const wrapper = startProcess([
    ...['--node-name', 'edge-1', '--kubeconfig', kubeconfig],
    ...['--listen', `127.0.0.1:${port}`, '--admin-listen', admin],
  ]);
  await wrapper.logged('listening');
  const watch = await recordWatch(`http://127.0.0.1:${port}${SLICES}`, {
    ...STREAMING_LIST,
    labelSelector: CURRENT_SLICES.labelSelector,
  });
  await delay(1_000);
  const usage = createProcessUsage(wrapper.child.pid ?? 0);
  const poller = new Worker(POLLER, { eval: true, workerData: `http://${admin}/healthz` });
  await delay(200);
  const before = usage.cpu();
  const began = performance.now();
  for (let slice = 0; slice < slices; slice++) {
    server.create('endpointslices', sliceOf(slice, serviceOf(slice)));
    if (rate === 0) await setImmediate();
    else while (performance.now() - began < (slice * 1000) / rate) await delay(1);
  }
  const added = () => watch.names().filter((name) => name.startsWith('ADDED')).length;
  while (added() < slices) await delay(20);
  const seconds = (performance.now() - began) / 1000;
  const cpu = usage.cpu() - before;
  const slowest = await new Promise<number>((resolve) => {
    poller.once('message', resolve);
    poller.postMessage('stop');
  });
  await watch.close();
  await wrapper.stop();
  await server.close();
  rmSync(folder, { recursive: true });
  return { cpu, slowest, seconds };
}

function sliceOf(slice: number, service: string) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `slice-${slice}`,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': service },
    },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpoints }, (_, n) => ({
      addresses: [`10.${n}.${slice >> 8}.${slice & 255}`],
      conditions: { ready: true },
      nodeName: `edge-${1 + ((slice + n) % 3)}`,
    })),
    ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
  };
}
