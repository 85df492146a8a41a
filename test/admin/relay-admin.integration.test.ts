import { beforeEach, expect, test } from '@jest/globals';
import { readText } from '../../harness/deploy/repository.ts';
import { createRelayMetrics } from '../../src/admin/metrics/relay-metrics.ts';
import { startRelayAdmin } from '../../src/admin/relay-admin.ts';
import { closedLater } from '../support/closed-later.ts';
import { eventually } from '../support/eventually.ts';
import { raw, readFirst } from '../support/http/http-client.ts';
import { type ReviewedRelay, useReviewedRelay } from '../support/relay/relay-fixture.ts';
import { putSlice } from '../support/wrapper/small-cluster.ts';

const PREFIX = 'kube_proxy_wrapper_relay_';
const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless';

let fixture: ReviewedRelay;
let url: string;

beforeEach(async () => {
  fixture = await useReviewedRelay({ silenceMs: 300 });
  const admin = await startRelayAdmin({ host: '127.0.0.1', port: 0 }, fixture.relay);
  ({ url } = closedLater(admin));
});

/** The value of a sample of /metrics; `name` has the labels, too. */
async function sampleOf(name: string): Promise<number | undefined> {
  const text = await createRelayMetrics(fixture.relay).registry.metrics();
  const line = text.split('\n').find((each) => each.startsWith(`${PREFIX}${name} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

/** Name and labels of what is registered, without the prefix. */
function registered(): string[] {
  const metrics = createRelayMetrics(fixture.relay).registry.getMetricsAsArray();
  // The types of the library do not have the labels.
  const named = metrics as unknown as { readonly name: string; readonly labelNames: string[] }[];
  const own = named.filter(({ name }) => name.startsWith(PREFIX));
  return own.map(({ name, labelNames }) => [name.slice(PREFIX.length), ...labelNames].join(' '));
}

test('docs/metrics.md has all metrics of a relay with their labels, and no others', () => {
  const rows = readText('docs/metrics.md').matchAll(/^- `(relay_)?(\w+)`(†)?(?: \((.*?)\))?:/gm);
  const documented = [...rows].flatMap(([, own, name = '', shared, labels = '']) => {
    if (own === undefined && shared === undefined) return [];
    return [[name, ...[...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label)].join(' ')];
  });
  expect(documented.toSorted()).toEqual(registered().toSorted());
});

test.each(['alerts.yaml', 'dashboard.json'])('%s uses only metrics that exist', (file) => {
  const text = readText(`manifests/monitoring/${file}`);
  const used = [...text.matchAll(/kube_proxy_wrapper_relay_(\w+)/g)].map(([, name = '']) => name);
  const names = registered().map((each) => each.split(' ')[0]);
  expect(used.filter((name) => !names.includes(name))).toEqual([]);
});

test('counts what callers read and what they are refused, and the bytes of both sides', async () => {
  const { relay, ask, cluster, ca } = fixture;
  putSlice(cluster, 'web-c', 'web', [{ ip: '10.0.0.3', node: 'edge-3' }]);
  expect((await ask(`${SLICES}&resourceVersion=0`, { token: 'node/1' })).code).toBe(200);
  const version = cluster.resourceVersion;
  const head = `Host: x\r\nAuthorization: Bearer node/2\r\n\r\n`;
  const path = `${SLICES}&watch=true&resourceVersion=${version}`;
  const watch = raw(relay.url, `GET ${path} HTTP/1.1\r\n${head}`, { ca });
  await eventually(() => watch.received().startsWith('HTTP/1.1 200'), true);
  expect((await ask('/api/v1/pods?resourceVersion=0', { token: 'node/1' })).code).toBe(400);
  expect(await sampleOf('client_watches')).toBe(1);
  await eventually(() => sampleOf('callers'), 1);
  expect(await sampleOf('access_reviews_total')).toBeGreaterThan(3);
  const refused = 'client_requests_refused_total{listener="https.listen",reason="BadRequest"}';
  expect(await sampleOf(refused)).toBe(1);
  const sent = (await sampleOf('client_sent_bytes_total{listener="https.listen"}')) ?? 0;
  const received = (await sampleOf('upstream_received_bytes_total')) ?? 0;
  putSlice(cluster, 'web-d', 'web', [{ ip: '10.0.0.4', node: `edge-${'x'.repeat(2_000)}` }]);
  await eventually(() => watch.received().includes('10.0.0.4'), true);
  const more = await sampleOf('client_sent_bytes_total{listener="https.listen"}');
  expect(more).toBeGreaterThan(sent + 2_000);
  expect(await sampleOf('upstream_received_bytes_total')).toBeGreaterThan(received + 2_000);
  watch.socket.destroy();
  await eventually(() => sampleOf('callers'), 0);
  // What was sent on a connection that is closed still counts.
  expect(await sampleOf('client_sent_bytes_total{listener="https.listen"}')).toBeGreaterThanOrEqual(
    more ?? 0,
  );
});

test('a list that is being sent counts, with its bytes, until its client has read it', async () => {
  const { relay, cluster, ca } = fixture;
  for (let n = 0; n < 40; n++) {
    const endpoints = Array.from({ length: 1_000 }, (_, i) => ({
      ip: `10.${n}.${i >> 8}.${i & 255}`,
      node: `edge-${n}-${'x'.repeat(60)}`,
    }));
    putSlice(cluster, `fat-${n}`, 'web', endpoints);
  }
  const head = 'Host: x\r\nAccept: application/json\r\nAuthorization: Bearer node/1\r\n\r\n';
  const list = raw(relay.url, `GET ${SLICES}&resourceVersion=0 HTTP/1.1\r\n${head}`, { ca });
  expect(await readFirst(list)).toMatch(/^HTTP\/1.1 200/);
  expect(await sampleOf('lists_sending')).toBe(1);
  expect(await sampleOf('lists_sending_bytes')).toBeGreaterThan(4_000_000);
  list.socket.destroy();
  await eventually(() => sampleOf('lists_sending'), 0);
  expect(await sampleOf('lists_sending_bytes')).toBe(0);
});

test('/readyz and relay_ready say that the API server is lost, and the age of each query grows', async () => {
  const { relay, api } = fixture;
  await eventually(async () => (await fetch(`${url}/readyz`)).status, 200);
  expect(await sampleOf('ready')).toBe(1);
  const age = `view_age_seconds{collection="${SLICES}",encoding="protobuf"}`;
  expect(await sampleOf(age)).toBeLessThan(30);
  await api.close();
  await eventually(() => relay.views.problem !== undefined, true);
  const answer = await fetch(`${url}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([
    503,
    expect.stringContaining('receives no changes'),
  ]);
  expect(await sampleOf('ready')).toBe(0);
  expect(await sampleOf(age)).toBeGreaterThan(0);
});

test.each([
  ['/healthz', {}, 200],
  ['/metrics', {}, 200],
  ['/status', {}, 404],
  ['/metrics', { method: 'POST' }, 405],
  ['/metrics', { headers: { origin: 'http://example.com' } }, 403],
])('%s %o is answered with %i', async (path, options, code) => {
  const answer = await fetch(url + path, options);
  expect([answer.status, (await answer.text()).length > 0]).toEqual([code, true]);
});

test('queries of callers share one series for each collection', async () => {
  for (const selector of ['a', 'b', 'c']) {
    const path = `/apis/discovery.k8s.io/v1/endpointslices?labelSelector=${selector}`;
    const { code } = await fixture.ask(`${path}&resourceVersion=0`, { token: 'node/1' });
    expect(code).toBe(200);
  }
  const text = await (await fetch(`${url}/metrics`)).text();
  const own = text.split('\n').filter((line) => line.startsWith(`${PREFIX}view_objects{`));
  expect(own.filter((line) => line.includes('endpointslices"'))).toHaveLength(1);
});
