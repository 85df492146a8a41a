import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  annotateService,
  createService,
  createSlice,
  labelNode,
} from '../../e2e/support/cluster-objects.ts';
import { testUsers } from '../../e2e/support/control-plane.ts';
import { eventually } from '../../e2e/support/eventually.ts';
import type { HostWrapper } from './support/host-wrapper.ts';
import { inLanes } from './support/http.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { inWords, startProber } from './support/prober.ts';
import { HERE, PORTS, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd, watchRequest } from './support/sockets.ts';
import { HARMFUL, TRICKS } from './support/terminal-tricks.ts';

jest.setTimeout(120_000);

let scene: RealScene;
let wrapper: HostWrapper;
const crowd = new Crowd();

beforeAll(async () => {
  scene = await startRealScene();
  wrapper = await scene.start();
  // A legitimate client that watches, so that the views are open.
  const path =
    '/apis/discovery.k8s.io/v1/endpointslices?watch=true&labelSelector=%21service.kubernetes.io%2Fheadless';
  crowd.open(1, wrapper.port, () => ({ bytes: watchRequest(path) }));
  await startLikeKubeProxy(wrapper.url, HERE, '1.36');
});

afterAll(async () => {
  await crowd.close();
  await scene?.stop();
});

describe('F7: what a tenant writes comes out as data', () => {
  const tricky = Object.values(TRICKS).join('');

  beforeAll(async () => {
    // The same objects twice: `plain` with harmless values in place of the tricks.
    for (const [name, evil] of [
      ['evil', tricky],
      ['good', 'plain'],
    ] as const) {
      const annotations = { topologyKeys: `["site"${evil === tricky ? evil : ', plain'}` };
      const port = [{ port: 80, targetPort: 8080 }];
      await createService(scene.plane.admin, {
        name,
        annotations: { topologyKeys: ZONE, note: evil },
        ports: port,
      });
      await createService(scene.plane.admin, { name: `${name}-policy`, annotations, ports: port });
      for (const service of [name, `${name}-policy`]) await createTrickySlice(service, evil);
    }
    for (const service of ['evil', 'good', 'evil-policy', 'good-policy']) {
      await eventually(
        async () => (await wrapper.admin(`/explain/default/${service}`)).body,
        (body) => body.includes('10.244.2.2'),
        { what: `the endpoints of ${service}` },
      );
    }
    // A decision that changes is in /decisions, and in explain.
    for (const service of ['evil', 'good']) {
      await annotateService(scene.plane.admin, service, { topologyKeys: '["site","*"]' });
      await eventually(
        async () => (await wrapper.admin('/decisions')).body,
        (body) => body.includes(`default/${service}`),
        { what: `a changed decision about ${service}` },
      );
      await annotateService(scene.plane.admin, service, { topologyKeys: ZONE });
    }
    await sleep(200);
  });

  test.each([
    ['explain', ['explain', 'NAME']],
    ['explain -o json', ['explain', 'NAME', '-o', 'json']],
    ['explain -o yaml', ['explain', 'NAME', '-o', 'yaml']],
    ['explain --diff', ['explain', 'NAME', '--diff']],
    ['explain --diff -o json', ['explain', 'NAME', '--diff', '-o', 'json']],
  ])('%s', async (name, words) => {
    const harmful: string[] = [];
    for (const service of ['', '-policy']) {
      const [evil = '', good = ''] = await Promise.all(
        ['evil', 'good'].map(
          async (of) =>
            await wrapper.command(
              ...words.map((word) => word.replace('NAME', `default/${of}${service}`)),
            ),
        ),
      );
      const found = evil.match(HARMFUL) ?? [];
      harmful.push(...found);
      report(
        'F7',
        `${name}${service}: ${found.length} harmful characters, ${lines(evil)} lines where harmless values make ${lines(good)}`,
      );
      expect(good.length).toBeGreaterThan(20);
      // A difference names no zone.
      if (!name.includes('--diff')) expect(good).toContain('plain');
      // YAML folds long lines, and those that it has to quote it folds otherwise.
      if (!name.endsWith('yaml')) expect(lines(evil)).toBe(lines(good));
    }
    expect(harmful).toEqual([]);
  });

  test.each([
    ['explain', ['explain']],
    ['explain --warnings', ['explain', '--warnings']],
    ['check', ['check', '--wait', '0', '--kubeconfig', 'KUBECONFIG']],
    ['simulate', ['simulate', '--kubeconfig', 'KUBECONFIG']],
    ['simulate -o json', ['simulate', '--kubeconfig', 'KUBECONFIG', '-o', 'json']],
    ['simulate -o yaml', ['simulate', '--kubeconfig', 'KUBECONFIG', '-o', 'yaml']],
  ])('%s of all Services', async (name, words) => {
    const kubeconfig = scene.plane.kubeconfig('wrapper');
    const all = words.map((word) => word.replace('KUBECONFIG', kubeconfig));
    const text = await wrapper.command(...all);
    const found = text.match(HARMFUL) ?? [];
    report('F7', `${name}: ${found.length} harmful characters in ${lines(text)} lines`);
    expect(text.length).toBeGreaterThan(20);
    expect(found).toEqual([]);
    expect(text).not.toMatch(/^\[ok\] kernel {2}all is well/m);
  });

  test.each(['/decisions', '/explain', '/table', '/readyz', '/metrics'])(
    '%s of the admin port',
    async (path) => {
      const { body } = await wrapper.admin(path);
      const found = Buffer.from(body, 'latin1').toString('utf8').match(HARMFUL) ?? [];
      report('F7', `${path}: ${found.length} harmful characters`);
      expect(body.length).toBeGreaterThan(2);
      expect(found).toEqual([]);
    },
  );

  test('the log', () => {
    const found = wrapper.process.log().match(HARMFUL) ?? [];
    report('F7', `the log: ${found.length} harmful characters`);
    expect(found).toEqual([]);
  });

  async function createTrickySlice(service: string, evil: string): Promise<void> {
    await createSlice(scene.plane.admin, {
      name: `${service}-1`,
      service,
      ports: PORTS,
      endpoints: [1, 2].map((number) => ({
        addresses: [`10.244.2.${number}`],
        nodeName: 'near',
        zone: `zone-${evil}`,
        targetRef: { kind: `Pod${evil}`, namespace: `ns${evil}`, name: `pod-${evil}-${number}` },
        conditions: { ready: true },
      })),
    });
  }
});

const ZONE = '["topology.kubernetes.io/zone","*"]';

const lines = (text: string): number => text.split('\n').length;

describe('F8: node sets', () => {
  const nodeRequests = (since: number) =>
    scene.plane
      .requests({ user: testUsers.wrapper, resource: 'nodes', since })
      .filter(({ uri }) => !uri.includes('metadata.name%3D'));

  test('30 toggles of an annotation list and watch each node set once', async () => {
    for (const name of ['here', 'near']) await labelNode(scene.plane.admin, name, { rack: 'r1' });
    await createService(scene.plane.admin, { name: 'toggled', ports: [{ port: 80 }] });
    const since = Date.now();
    for (let toggle = 0; toggle < 30; toggle++) {
      const key = toggle % 2 === 0 ? 'rack' : 'kubernetes.io/hostname';
      await annotateService(scene.plane.admin, 'toggled', { topologyKeys: `["${key}"]` });
      await eventually(
        async () => (await wrapper.admin('/explain/default/toggled')).body,
        (body) => body.includes(key),
        { what: `the policy ${key}` },
      );
      await sleep(50);
    }
    const requests = nodeRequests(since);
    const sets = new Map<string, number>();
    for (const { uri } of requests) {
      const set = /labelSelector=([^&]*)/.exec(uri)?.[1] ?? 'all';
      sets.set(set, (sets.get(set) ?? 0) + 1);
    }
    const figures = [...sets].map(([set, count]) => `${decodeURIComponent(set)} × ${count}`);
    report('F8', `30 toggles: LIST and WATCH of Nodes: ${figures.join(', ') || 'none'}`);
    for (const count of sets.values()) expect(count).toBeLessThanOrEqual(2);
  });

  test('a policy with a key that every node has lists no Nodes', async () => {
    const since = Date.now();
    const annotations = { topologyKeys: '["kubernetes.io/os","*"]' };
    for (const name of ['here', 'near', 'far']) {
      const labels = { 'kubernetes.io/os': 'linux' };
      await labelNode(scene.plane.admin, name, labels);
    }
    await createService(scene.plane.admin, {
      name: 'everywhere',
      annotations,
      ports: [{ port: 80 }],
    });
    await eventually(
      async () => (await wrapper.admin('/explain/default/everywhere')).body,
      (body) => body.includes('kubernetes.io/os'),
    );
    await sleep(1_000);
    const uris = nodeRequests(since).map(({ uri }) => decodeURIComponent(uri));
    report('F8', `a policy of kubernetes.io/os: ${uris.length} LIST and WATCH of Nodes`);
    expect(uris).toEqual([]);
  });
});

test('F11: explanations of a Service of 20,000 endpoints and 100 ports delay no probe', async () => {
  const { admin } = scene.plane;
  const names = Array.from({ length: 100 }, (_, index) => `p${index}`);
  const ports = names.map((name, index) => ({
    name,
    port: 1000 + index,
    targetPort: 1000 + index,
  }));
  const annotations = { topologyKeys: '["site","*"]' };
  await createService(admin, { name: 'huge', annotations, ports });
  const indices = Array.from({ length: 20 }, (_, index) => index);
  await inLanes(indices, 4, async (slice) => {
    const endpoints = Array.from({ length: 1_000 }, (_, each) => ({
      addresses: [`10.${100 + slice}.${each >> 8}.${each & 255}`],
      nodeName: each % 2 === 0 ? 'near' : 'far',
      conditions: { ready: true },
    }));
    await createSlice(admin, {
      name: `huge-${slice}`,
      service: 'huge',
      endpoints,
      ports: names.map((name, index) => ({ name, port: 1000 + index, protocol: 'TCP' })),
    });
  });
  await sleep(3_000);
  const prober = startProber(wrapper.adminUrl);
  await sleep(300);
  const times: number[] = [];
  let status = 0;
  for (let turn = 0; turn < 5; turn++) {
    const answer = await wrapper.admin('/explain/default/huge', {
      timeoutMs: 20_000,
      keepBytes: 0,
    });
    times.push(answer.ms);
    status = answer.status;
  }
  await sleep(1_000);
  const figures = await prober.stop();
  report('F11', `5 explanations (${status}) in ${times.join(', ')} ms: ${inWords(figures)}`);
  expect(status).toBe(200);
  expect(figures.failed).toBe(0);
  expect(figures.slowestMs).toBeLessThanOrEqual(250);
});
