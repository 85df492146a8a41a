import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../../fake-apiserver/kube-object.ts';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { type HostWrapper, startHostWrapper } from '../../../harness/hostile/host-wrapper.ts';
import { inLanes, send } from '../../../harness/hostile/http.ts';
import { startLikeKubeProxy } from '../../../harness/hostile/kube-proxy-queries.ts';
import { report } from '../../../harness/hostile/report.ts';
import { poll } from '../../../harness/poll.ts';
import { peakMegabytes } from '../../../harness/process/process-figures.ts';
import { createSmallCluster } from '../../support/wrapper/small-cluster.ts';

jest.setTimeout(300_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const NODE = 'edge-1';
/** A real API server takes a minute to take so many Services; this one has them at once. */
const SERVICES = 5_000;
const ENDPOINTS = 20;
/** A kube-proxy tries again for so long, in milliseconds: on a busy machine the lists of its views take their time. */
const PATIENT_MS = 60_000;

let folder: string;
let cluster: ApiServer;
let wrapper: HostWrapper;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kpw-hostile-memory-'));
  cluster = createSmallCluster();
  const indices = Array.from({ length: SERVICES }, (_, index) => index);
  cluster.restore('services', indices.map(serviceOf), 1_000);
  cluster.restore('endpointslices', indices.map(sliceOf), 1_000);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(await cluster.listen()));
  wrapper = await startHostWrapper({ kubeconfig, nodeName: NODE });
});

afterAll(async () => {
  await wrapper?.stop();
  await cluster?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

function serviceOf(index: number): KubeObject {
  const annotations = { topologyKeys: '["site","*"]' };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadataOf(index), ...(index % 2 === 0 ? { annotations } : {}) },
    spec: {
      clusterIP: `10.96.${index >> 8}.${index & 255}`,
      type: 'ClusterIP',
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    },
  };
}

function sliceOf(index: number): KubeObject {
  const metadata = metadataOf(index);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: Array.from({ length: ENDPOINTS }, (_, each) => ({
      addresses: [`10.${128 + (index >> 8)}.${index & 255}.${each + 1}`],
      nodeName: each % 2 === 0 ? 'edge-2' : 'edge-3',
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', namespace: 'many', name: `${metadata.name}-5c9f7d8b6-${each}abcd` },
    })),
  };
}

function metadataOf(index: number) {
  const name = `service-${index}`;
  return { name, namespace: 'many', uid: `uid-${index}`, resourceVersion: '1000' };
}

/** Starts as a kube-proxy does, which tries again until it has read everything. */
async function startKubeProxy(): Promise<void> {
  await poll(
    async () => await startLikeKubeProxy(wrapper.url, NODE, PATIENT_MS),
    ({ statuses }) => statuses.every((status) => status === 200),
    { what: 'a kube-proxy has read all', timeoutMs: PATIENT_MS, intervalMs: 1_000 },
  );
}

test('F4: 60 more views of 5,000 Services take no more than 512 MB', async () => {
  await startKubeProxy();
  const idle = peakMegabytes(wrapper.process.pid);
  const statuses = new Set<number>();
  const reasons = new Set<string | undefined>();
  const attacks = Array.from({ length: 60 }, (_, index) => index);
  await inLanes(attacks, 6, async (index) => {
    const path = `${SLICES}?resourceVersion=0&labelSelector=attack%21%3D${index}`;
    const accept = index % 2 === 0 ? 'application/json' : 'application/vnd.kubernetes.protobuf';
    const ask = () =>
      send(wrapper.url + path, { headers: { accept }, keepBytes: 2_000, timeoutMs: 60_000 });
    let answer = await ask();
    // The API server in memory shares this process. While it encodes lists, our own requests are sent late.
    for (let tries = 0; answer.status === 408 && tries < 3; tries++) answer = await ask();
    statuses.add(answer.status);
    if (answer.status === 503) reasons.add(/kube-proxy-wrapper: [^"]*/.exec(answer.body)?.[0]);
  });
  await startKubeProxy();
  const peak = peakMegabytes(wrapper.process.pid);
  report('F4', `${idle} MB with kube-proxy's views, ${peak} MB at most with 60 more`);
  expect(peak).toBeLessThanOrEqual(512);
  expect([...statuses].sort()).toEqual([200, 503]);
  expect(reasons).not.toContain(undefined);
  expect([...reasons].join()).toMatch(/view/i);
});
