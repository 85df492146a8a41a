import { statSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type HostWrapper, sumOfMetrics } from './support/host-wrapper.ts';
import { persistLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { inWords, type ProbeFigures, startProber } from './support/prober.ts';
import { HERE, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd } from './support/sockets.ts';

jest.setTimeout(120_000);

const HEALTHZ = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n';
const REFUSED_METRIC = /^kube_proxy_wrapper_\w*requests_\w*(refused|rejected)/;

let scene: RealScene;

beforeAll(async () => {
  scene = await startRealScene();
});

afterAll(async () => {
  await scene?.stop();
});

describe('F5: liveness probes are answered', () => {
  let wrapper: HostWrapper;
  let crowd: Crowd;

  beforeAll(async () => {
    wrapper = await scene.start();
  });

  afterAll(async () => {
    await wrapper?.stop();
  });

  /** Probes for 5 s beside what `attack` opens. */
  async function probeDuring(attack: () => Promise<void>): Promise<ProbeFigures> {
    crowd = new Crowd();
    const prober = startProber(wrapper.adminUrl);
    try {
      await attack();
      await sleep(5_000);
      return await prober.stop();
    } finally {
      await crowd.close();
    }
  }

  test.each([
    ['400 silent connections', '', ''],
    ['400 trickling connections', HEALTHZ, 'X'],
    ['400 idle connections', `${HEALTHZ}\r\n`, ''],
  ])('beside %s to the admin port', async (name, bytes, byte) => {
    const figures = await probeDuring(async () => {
      crowd.open(400, wrapper.adminPort, () => ({ bytes }));
      if (byte !== '') crowd.trickle(byte, 500);
    });
    report('F5', `${name} to the admin port: ${inWords(figures)}`);
    expect(figures.probes).toBeGreaterThan(30);
    expect([figures.failed, figures.firstFailure]).toEqual([0, '']);
  });

  test('beside 1,200 silent connections to the http port, where a kube-proxy gets through', async () => {
    let waited: number | undefined;
    const figures = await probeDuring(async () => {
      crowd.open(1_200, wrapper.port);
      await sleep(500);
      waited = await persistLikeKubeProxy(wrapper.url, HERE, 20_000);
    });
    report('F5', `1,200 silent connections to the http port: ${inWords(figures)}`);
    report('F5', `a kube-proxy that starts meanwhile has read all after ${waited} ms`);
    expect([figures.failed, figures.firstFailure]).toEqual([0, '']);
    expect(waited).toBeDefined();
  });
});

const REFUSED = [
  'GET /api/v1/secrets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  'DELETE /api/v1/namespaces/default/services/web HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  'GET /api/v1/services HTTP/1.1\r\nHost: evil.example\r\n\r\n',
  'GET /api/v1/services?unknown=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  'GET /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n\r\n',
];

test('F10: 20,000 refused requests are counted, and log no more than 64 KB', async () => {
  const wrapper = await scene.start();
  const bytesBefore = statSync(wrapper.process.logFile).size;
  const countedBefore = await sumOfMetrics(wrapper, REFUSED_METRIC);
  const prober = startProber(wrapper.adminUrl);
  const start = performance.now();
  const lanes = await Promise.all(
    Array.from({ length: 10 }, async (_, lane) => await refuse(wrapper.port, 2_000, lane)),
  );
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const figures = await prober.stop();
  const answered = lanes.reduce((sum, each) => sum + each, 0);
  // What is logged as counts may come with the next summary.
  await sleep(1_500);
  const counted = (await sumOfMetrics(wrapper, REFUSED_METRIC)) - countedBefore;
  const kilobytes = Math.ceil((statSync(wrapper.process.logFile).size - bytesBefore) / 1024);
  report(
    'F10',
    `${answered} requests refused in ${seconds} s: ${kilobytes} KB of log, ${counted} counted`,
  );
  report('F10', inWords(figures));
  await wrapper.stop();
  expect(answered).toBe(20_000);
  expect(kilobytes).toBeLessThanOrEqual(64);
  expect(counted).toBeGreaterThanOrEqual(20_000);
  expect(figures.failed).toBe(0);
});

/** Sends requests that are refused, one after the other; resolves with the number of 4xx answers. */
async function refuse(port: number, count: number, lane: number): Promise<number> {
  let answered = 0;
  const end = performance.now() + 30_000;
  // A refusal may end the connection; then the next one begins.
  while (answered < count && performance.now() < end) {
    answered += await refuseOnOne(port, count - answered, lane);
  }
  return answered;
}

function refuseOnOne(port: number, count: number, lane: number): Promise<number> {
  return new Promise((resolve) => {
    let answered = 0;
    let text = '';
    const socket = connect(port, '127.0.0.1');
    const next = (): void => void socket.write(REFUSED[(answered + lane) % REFUSED.length] ?? '');
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      // One request is in flight, so that one head is one answer; its body always ends with the closing brace.
      if (!/^HTTP\/1\.1 4\d\d [\s\S]*\r\n\r\n[\s\S]*\}\s*$/.test(text)) return;
      text = '';
      answered += 1;
      if (answered === count) socket.destroy();
      else next();
    });
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on('error', () => {});
    socket.once('close', () => resolve(answered));
    socket.once('connect', next);
  });
}
