import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../embedded/api-server.ts';
import type { KubeObject } from '../../../embedded/kube-object.ts';
import { peakMegabytes } from '../../e2e/support/process-figures.ts';
import { createSmallCluster } from '../../support/wrapper/small-cluster.ts';
import { plainKubeconfig } from './support/fake-scene.ts';
import { type HostWrapper, startHostWrapper } from './support/host-wrapper.ts';
import { inLanes, send, Tally } from './support/http.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { report } from './support/report.ts';

jest.setTimeout(180_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const NODE = 'edge-1';
/** A real API server takes a minute to take so many Services; this one has them at once. */
const SERVICES = 5_000;
const ENDPOINTS = 20;

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
  writeFileSync(kubeconfig, plainKubeconfig(await cluster.listen(), 'own'));
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

test('F4: 60 more views of 5,000 Services take no more than 512 MB', async () => {
  const patient = { timeoutMs: 30_000 };
  const before = await startLikeKubeProxy(wrapper.url, NODE, '1.36', patient);
  const idle = peakMegabytes(wrapper.process.pid);
  const answers = new Tally();
  const reasons = new Set<string>();
  const attacks = Array.from({ length: 60 }, (_, index) => index);
  await inLanes(attacks, 6, async (index) => {
    const path = `${SLICES}?resourceVersion=0&labelSelector=attack%21%3D${index}`;
    const ask = () =>
      send(wrapper.url + path, {
        headers: {
          accept: index % 2 === 0 ? 'application/json' : 'application/vnd.kubernetes.protobuf',
        },
        keepBytes: 2_000,
        timeoutMs: 60_000,
      });
    let answer = await ask();
    // The API server in memory shares this process. While it encodes lists, our own requests are sent late.
    for (let tries = 0; answer.status === 408 && tries < 3; tries++) answer = await ask();
    const { status, error, body } = answer;
    answers.add(error === '' ? status : error);
    if (status === 503)
      reasons.add(/kube-proxy-wrapper: [^"]*/.exec(body)?.[0].slice(0, 150) ?? '');
  });
  const during = await startLikeKubeProxy(wrapper.url, NODE, '1.36', patient);
  const peak = peakMegabytes(wrapper.process.pid);
  report('F4', `5,000 Services of 20 endpoints: ${idle} MB with kube-proxy's views`);
  report('F4', `60 more views: ${peak} MB at most; answers: ${answers}`);
  report(
    'F4',
    `a kube-proxy starts before in ${before.ms} ms, afterwards in ${during.ms} ms: ${during.statuses}`,
  );
  expect(before.statuses).toEqual([200, 200, 200, 200]);
  expect(peak).toBeLessThanOrEqual(512);
  expect(answers.keys().filter((key) => key !== '200' && key !== '503')).toEqual([]);
  expect(answers.of(503)).toBeGreaterThan(0);
  for (const reason of [...reasons].slice(0, 3)) report('F4', `a reason: ${reason}`);
  expect([...reasons]).not.toContain('');
  expect([...reasons].join()).toMatch(/view/i);
  expect(during.statuses).toEqual([200, 200, 200, 200]);
});
