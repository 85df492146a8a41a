import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { eventually } from '../../e2e/support/eventually.ts';
import { deleteEvents, mostExecuting, storedEvents } from './support/api-server-figures.ts';
import { CORE_EVENTS, EVENTS, kubeProxyEvent, largeEvent } from './support/events.ts';
import type { HostWrapper } from './support/host-wrapper.ts';
import { flood, send, Tally } from './support/http.ts';
import { createKubeProxyNode, type KubeProxyNode } from './support/kube-proxy-node.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { HERE, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd } from './support/sockets.ts';

jest.setTimeout(120_000);

const JSON_TYPE = { 'content-type': 'application/json' };

let scene: RealScene;

beforeAll(async () => {
  scene = await startRealScene();
});

afterAll(async () => {
  await scene?.stop();
});

describe('F1: a local process floods the API server with Events', () => {
  let wrapper: HostWrapper;
  let kubeProxy: KubeProxyNode;

  beforeAll(async () => {
    wrapper = await scene.start();
    kubeProxy = await createKubeProxyNode(scene.plane, wrapper);
  });

  afterAll(async () => {
    await kubeProxy?.stop();
    await wrapper?.stop();
  });

  test('the Event that a stock kube-proxy writes at its start is stored', async () => {
    await kubeProxy.start();
    const { elapsedMs } = await eventually(
      async () => (await storedEvents(scene.plane)).count,
      (count) => count === 1,
      { what: "one Event, kube-proxy's" },
    );
    report('F1', `the first Event of a stock kube-proxy is stored after ${elapsedMs} ms`);
  });

  test('at most 60 Events and 256 KB are stored; the rest is refused with a Status', async () => {
    const first = kubeProxyEvent(HERE);
    const { status } = await send(wrapper.url + EVENTS, {
      ...{ method: 'POST', headers: JSON_TYPE, body: first },
    });
    const answers = new Tally();
    const withoutStatus: string[] = [];
    const attack = flood(10_000, 24, async (lane) => {
      const large = lane % 3 === 0;
      const { status, body, error } = await send(wrapper.url + (large ? CORE_EVENTS : EVENTS), {
        ...{ method: 'POST', headers: JSON_TYPE },
        body: large ? largeEvent(HERE, 1_000_000) : kubeProxyEvent(HERE),
      });
      answers.add(status === 0 ? error : status);
      // A refusal may come, and the connection end, before an attacker has sent its megabyte.
      if (status !== 0 && error === '' && !/"kind":"(Status|Event)"/.test(body)) {
        withoutStatus.push(body.slice(0, 200));
      }
    });
    await sleep(2_000);
    const seen = await startLikeKubeProxy(wrapper.url, HERE, '1.36');
    const lists = await startLikeKubeProxy(wrapper.url, HERE, '1.33');
    await attack;
    const { count, bytes, names } = await storedEvents(scene.plane);
    await deleteEvents(scene.plane);
    const kilobytes = Math.round(bytes / 1024);
    report('F1', `10 s of POSTs: ${count} Events of ${kilobytes} KB stored; answers: ${answers}`);
    report('F1', `a kube-proxy starts meanwhile in ${seen.ms} ms (1.36), ${lists.ms} ms (1.33)`);
    expect(status).toBe(201);
    expect(names).toContain((JSON.parse(first) as { metadata: { name: string } }).metadata.name);
    expect(withoutStatus).toEqual([]);
    expect(answers.keys().filter((key) => /^\d/.test(key) && !/^(201|403|413|429)$/.test(key)))
      // All others are no refusals of ours.
      .toEqual([]);
    expect([seen.statuses, lists.statuses].flat().every((code) => code === 200)).toBe(true);
    expect(seen.ms).toBeLessThan(2_000);
    expect(count).toBeLessThanOrEqual(60);
    expect(kilobytes).toBeLessThanOrEqual(256);
  });

  test.each([
    ['of 1 MB', largeEvent(HERE, 1_000_000)],
    ['of another component', kubeProxyEvent(HERE).replaceAll('kube-proxy', 'kubelet')],
    ['of another node', kubeProxyEvent('far')],
    ['of a Pod', kubeProxyEvent(HERE).replace('"kind":"Node"', '"kind":"Pod"')],
  ])('an Event %s is refused with a Status', async (_name, body) => {
    const path = body.includes('events.k8s.io') ? EVENTS : CORE_EVENTS;
    // Only the head of the large one is sent, because it has the size.
    const isLarge = body.length > 100_000;
    const headers = { ...JSON_TYPE, ...(isLarge ? { 'content-length': body.length } : {}) };
    const answer = await send(wrapper.url + path, {
      ...{ method: 'POST', headers, ...(isLarge ? {} : { body }) },
      timeoutMs: 3_000,
    });
    expect(answer).toMatchObject({ status: expect.any(Number), error: '' });
    expect([403, 413, 429]).toContain(answer.status);
    expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', code: answer.status });
  });
});

test('F2: 750 slow Event requests on three wrappers take no more than 2 seats of the API server', async () => {
  const wrappers = await Promise.all([scene.start(), scene.start(), scene.start()]);
  const { plane } = scene;
  await sleep(1_500);
  const idle = await mostExecuting(plane, async () => await sleep(1_500));
  const crowd = new Crowd();
  const waits: number[] = [];
  let seen = { statuses: [0] as readonly number[], ms: 0 };
  const head = `POST ${EVENTS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{`;
  let most = 0;
  try {
    most = await mostExecuting(plane, async () => {
      for (const { port } of wrappers) crowd.open(250, port, () => ({ bytes: head }));
      crowd.trickle(' ', 500);
      const end = performance.now() + 8_000;
      await sleep(1_000);
      const starting = startLikeKubeProxy(wrappers[0]?.url ?? '', HERE, '1.36');
      while (performance.now() < end) {
        const { ms } = await send(`${plane.server}/api/v1/services?limit=1`, {
          ca: readFileSync(plane.caFile),
          token: plane.tokens.kubeProxy,
          timeoutMs: 15_000,
        });
        waits.push(ms);
        await sleep(200);
      }
      seen = await starting;
    });
  } finally {
    await crowd.close();
    for (const wrapper of wrappers) await wrapper.stop();
  }
  const slowest = Math.max(...waits);
  report(
    'F2',
    `750 slow requests: ${most - idle} executing in the API server above idle (${idle})`,
  );
  report('F2', `a client of the API server waits ${slowest} ms at most, of ${waits.length} GETs`);
  report('F2', `a kube-proxy starts meanwhile: ${seen.statuses} in ${seen.ms} ms`);
  expect(most - idle).toBeLessThanOrEqual(2);
  expect(slowest).toBeLessThan(1_000);
  expect(seen.statuses).toEqual([200, 200, 200, 200]);
});
