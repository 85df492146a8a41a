import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ApiClient } from '../../e2e/support/api.ts';
import { createNamespace, createService, createSlice } from '../../e2e/support/cluster-objects.ts';
import { eventually } from '../../e2e/support/eventually.ts';
import { sumOfMetrics } from './support/host-wrapper.ts';
import { inLanes, send, Tally } from './support/http.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { peakMegabytes } from './support/process-figures.ts';
import { HERE, PORTS, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd } from './support/sockets.ts';

jest.setTimeout(180_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
/** The metric that counts views which were refused, or the share of the budget in use. */
const BUDGET_METRIC = /^kube_proxy_wrapper_(view|views)_.*(refused|budget|rejected)/;

let scene: RealScene;

beforeAll(async () => {
  scene = await startRealScene();
});

afterAll(async () => {
  await scene?.stop();
});

const watchOf = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;

test('F3: a kube-proxy starts within 2 s beside 100 watches with selectors of their own', async () => {
  const wrapper = await scene.start();
  const crowd = new Crowd();
  try {
    crowd.open(100, wrapper.port, (index) => ({
      bytes: watchOf(`${SLICES}?watch=true&labelSelector=attack%21%3D${index}`),
    }));
    await eventually(
      () => crowd.count('HTTP/1.1 '),
      (answered) => answered === 100,
      { what: 'an answer to each of 100 watches', timeoutMs: 30_000 },
    );
    const [held, refused] = [crowd.count('HTTP/1.1 200'), crowd.count('HTTP/1.1 503')];
    const newer = await startLikeKubeProxy(wrapper.url, HERE, '1.36');
    const older = await startLikeKubeProxy(wrapper.url, HERE, '1.33');
    const readyz = await wrapper.admin('/readyz');
    const metric = await sumOfMetrics(wrapper, BUDGET_METRIC);
    report('F3', `of 100 watches ${held} are held and ${refused} refused with 503`);
    report('F3', `a kube-proxy starts: 1.36 ${newer.statuses} in ${newer.ms} ms`);
    report('F3', `a kube-proxy starts: 1.33 ${older.statuses} in ${older.ms} ms`);
    expect(newer.statuses).toEqual([200, 200, 200, 200]);
    expect(older.statuses).toEqual([200, 200, 200, 200]);
    expect(Math.max(newer.ms, older.ms)).toBeLessThan(2_000);
    expect(readyz).toMatchObject({
      status: 200,
      body: expect.stringMatching(/view.*(budget|refus)/i),
    });
    expect(metric).toBeGreaterThan(0);
  } finally {
    await crowd.close();
    await wrapper.stop();
  }
});

test('F4: 60 more views of 5,000 Services take no more than 512 MB', async () => {
  const seconds = await writeServices(scene.plane.admin, 5_000);
  const wrapper = await scene.start();
  try {
    const before = await startLikeKubeProxy(wrapper.url, HERE, '1.36', { timeoutMs: 30_000 });
    const idle = peakMegabytes(wrapper.process.pid);
    const answers = new Tally();
    const reasons = new Set<string>();
    const attacks = Array.from({ length: 60 }, (_, index) => index);
    await inLanes(attacks, 6, async (index) => {
      const path = `${SLICES}?resourceVersion=0&labelSelector=attack%21%3D${index}`;
      const { status, error, body } = await send(wrapper.url + path, {
        headers: {
          accept: index % 2 === 0 ? 'application/json' : 'application/vnd.kubernetes.protobuf',
        },
        ...{ keepBytes: 2_000, timeoutMs: 60_000 },
      });
      answers.add(error === '' ? status : error);
      if (status === 503) reasons.add(/(view|budget|memory)[^"]*/i.exec(body)?.[0] ?? '');
    });
    const during = await startLikeKubeProxy(wrapper.url, HERE, '1.36', { timeoutMs: 30_000 });
    const peak = peakMegabytes(wrapper.process.pid);
    report(
      'F4',
      `5,000 Services of 20 endpoints (written in ${seconds} s): ${idle} MB with kube-proxy's views`,
    );
    report('F4', `60 more views: ${peak} MB at most; answers: ${answers}`);
    report(
      'F4',
      `a kube-proxy starts before in ${before.ms} ms, afterwards in ${during.ms} ms: ${during.statuses}`,
    );
    expect(before.statuses).toEqual([200, 200, 200, 200]);
    expect(peak).toBeLessThanOrEqual(512);
    expect(answers.keys().filter((key) => key !== '200' && key !== '503')).toEqual([]);
    expect(answers.of(503)).toBeGreaterThan(0);
    expect([...reasons]).not.toContain('');
    expect(during.statuses).toEqual([200, 200, 200, 200]);
  } finally {
    await wrapper.stop();
  }
});

/** Writes Services of 20 endpoints each; resolves with the seconds that it took. */
async function writeServices(admin: ApiClient, count: number): Promise<number> {
  const start = performance.now();
  const namespace = 'many';
  await createNamespace(admin, namespace);
  const indices = Array.from({ length: count }, (_, index) => index);
  await inLanes(indices, 32, async (index) => {
    const name = `service-${index}`;
    await createService(admin, { name, namespace, ports: [{ port: 80 }] });
    const endpoints = Array.from({ length: 20 }, (_, each) => ({
      addresses: [`10.${128 + (index >> 8)}.${index & 255}.${each + 1}`],
      nodeName: each % 2 === 0 ? 'near' : 'far',
      conditions: { ready: true, serving: true, terminating: false },
    }));
    await createSlice(admin, { name, namespace, service: name, ports: PORTS, endpoints });
  });
  return Math.round((performance.now() - start) / 1000);
}
