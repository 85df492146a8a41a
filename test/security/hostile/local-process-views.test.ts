import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '../../e2e/support/eventually.ts';
import { sumOfMetrics } from './support/host-wrapper.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { HERE, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd } from './support/sockets.ts';

jest.setTimeout(180_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
/** Counts views that were refused. */
const BUDGET_METRIC = /^kube_proxy_wrapper_views?_\w*(refus|reject)/;

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
