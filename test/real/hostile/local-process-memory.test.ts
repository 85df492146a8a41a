import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { type HostWrapper, startHostWrapper } from '../../../harness/hostile/host-wrapper.ts';
import { inLanes, send } from '../../../harness/hostile/http.ts';
import { startLikeKubeProxy } from '../../../harness/hostile/kube-proxy-queries.ts';
import { restoreManyServices } from '../../../harness/hostile/many-services.ts';
import { report } from '../../../harness/hostile/report.ts';
import { poll } from '../../../harness/poll.ts';
import { peakMegabytes } from '../../../harness/process/process-figures.ts';
import { createSmallCluster } from '../../support/wrapper/small-cluster.ts';

jest.setTimeout(600_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const NODE = 'edge-1';
const SERVICES = 5_000;
/** A kube-proxy tries again for so long, in milliseconds: on a busy machine the lists of its views take their time. */
const PATIENT_MS = 60_000;

let folder: string;
let cluster: ApiServer;
let wrapper: HostWrapper;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kpw-hostile-memory-'));
  cluster = createSmallCluster();
  restoreManyServices(cluster, SERVICES);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(await cluster.listen()));
  wrapper = await startHostWrapper({ kubeconfig, nodeName: NODE });
});

afterAll(async () => {
  await wrapper?.stop();
  await cluster?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

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
