import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { writeServingFiles } from '../../harness/certificates.ts';
import { createMetrics } from '../../src/admin/metrics/metrics.ts';
import { NodeReader } from '../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { behind, useRelayOf } from '../support/relay/relay-fixture.ts';
import { useFolder } from '../support/use-folder.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { metricsOf } from '../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../support/wrapper/use.ts';

const PREFIX = 'kube_proxy_wrapper_';

let server: ApiServer;
let proxy: NodeProxy;
let registered: readonly RegisteredMetric[];
let there: Set<string>;

/** A metric in the registry. The types of the library do not have the labels. */
interface RegisteredMetric {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** Starts a wrapper with everything that has metrics: the https listener, a state folder, a runtime, relays. */
beforeAll(async () => {
  const folder = useFolder();
  server = useCluster();
  const { certFile, keyFile } = await writeServingFiles(folder);
  const https = { listen: '127.0.0.1:0', certFile, keyFile };
  const localRuntime = join(folder, 'cri.sock');
  const relays = { servers: ['https://10.96.0.80'], caFile: join(folder, 'nowhere') };
  const settings = { https, stateDir: join(folder, 'state'), localRuntime, relays };
  proxy = await useWrapper(await server.listen(), {}, settings);
  const { registry } = createMetrics(new NodeReader(proxy));
  registered = registry.getMetricsAsArray() as unknown as RegisteredMetric[];
  const text = await registry.metrics();
  there = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
});

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

test.each(['manifests/monitoring/alerts.yaml', 'manifests/monitoring/dashboard.json'])(
  '%s uses only metrics that exist',
  (file) => {
    const names = read(file).match(/\b(?:kube_proxy_wrapper|process|nodejs)_\w+/g) ?? [];
    expect(names.length).toBeGreaterThan(14);
    // The series of a histogram have a suffix. relay-admin.integration.test.ts is about those of relays.
    const metrics = names
      .filter((name) => !name.startsWith(`${PREFIX}relay_`))
      .map((name) => name.replace(/_bucket$/, ''));
    expect(metrics.filter((name) => !there.has(name))).toEqual([]);
  },
);

test('docs/metrics.md has all metrics of the wrapper with their labels, and no others', () => {
  const [wrapper = ''] = read('docs/metrics.md').split('\n## Relays\n');
  const rows = wrapper.matchAll(/^- `(\w+)`†?(?: \((.*?)\))?:/gm);
  const documented = [...rows].map(([, name = '', labels = '']) => ({
    name: PREFIX + name,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
  }));
  const own = registered.filter(({ name }) => name.startsWith(PREFIX));
  const metrics = own.map(({ name, labelNames }) => ({ name, labels: [...labelNames] }));
  expect(sortByName(documented)).toEqual(sortByName(metrics));
});

function sortByName<T extends { readonly name: string }>(metrics: readonly T[]): T[] {
  return metrics.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Name, type and labels of published metrics. Dashboards and alerts of users depend on them. */
const PUBLISHED = [
  'access_reviews_stale_total counter',
  'access_reviews_total counter',
  'build_info gauge version node_version',
  'client_connections gauge listener',
  'client_connections_refused_total counter listener',
  'client_requests_refused_total counter listener reason',
  'client_sent_bytes_total counter listener',
  'client_watches gauge',
  'client_watches_stalled_total counter listener',
  'data_age_seconds gauge',
  'endpoints_known gauge filtered',
  'endpoints_shown gauge filtered',
  'event_handling_seconds histogram',
  'events_injected_total counter collection encoding',
  'events_suppressed_total counter collection encoding',
  'filter_off gauge',
  'forwarded_requests gauge',
  'forwarded_requests_refused_total counter bound',
  'https_certificate_expiry_timestamp_seconds gauge',
  'https_certificate_failures_total counter',
  'https_certificate_not_before_timestamp_seconds gauge',
  'kernel_rules gauge',
  'list_ratio gauge collection encoding',
  'local_runtime_corrected_endpoints gauge collection encoding',
  'local_runtime_failures_total counter',
  'local_runtime_up gauge',
  'log_lines_dropped_total counter',
  'node_set_nodes gauge selector',
  'node_set_refused gauge selector',
  'node_sets gauge state',
  'requests_total counter listener code',
  'service_decisions gauge collection encoding winner',
  'services gauge policy',
  'services_dry_run gauge',
  'services_withheld gauge',
  'services_without_ready_endpoints gauge reason',
  'snapshot_bytes gauge',
  'snapshot_set_aside_total counter cause',
  'snapshot_write_failures_total counter',
  'snapshot_writes_total counter',
  'source_refused gauge collection',
  'upstream_connected gauge collection encoding',
  'upstream_failovers_total counter',
  'upstream_lists_total counter collection encoding',
  'upstream_received_bytes_total counter',
  'upstream_relay_in_use gauge',
  'upstream_server_in_use gauge server',
  'upstream_watches_total counter collection encoding',
  'view_budget_refusals_total counter reason',
  'view_bytes gauge collection encoding',
  'view_from_snapshot gauge collection encoding',
  'view_objects gauge collection encoding',
  'view_refused gauge collection encoding',
  'view_started gauge collection encoding',
];

test('each metric is here with its type and labels, which do not change', () => {
  const own = registered
    .filter(({ name }) => name.startsWith(PREFIX))
    .map(({ name, type, labelNames }) =>
      [name.slice(PREFIX.length), type, ...labelNames].join(' '),
    );
  expect(own.toSorted()).toEqual(PUBLISHED.toSorted());
});

/** Labels with few values, none of which a client or a tenant can choose without a bound. */
const LABELS = [
  ...[
    'bound',
    'cause',
    'code',
    'collection',
    'encoding',
    'filtered',
    'listener',
    'node_version',
    'policy',
  ],
  ...['reason', 'selector', 'server', 'state', 'version', 'winner'],
];

test('the names of counters, and of no gauges, end in _total, and labels have few values', () => {
  for (const { name, type, labelNames } of registered) {
    if (!name.startsWith(PREFIX)) continue;
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    expect(LABELS).toEqual(expect.arrayContaining([...labelNames]));
  }
});

test('measures the time to handle events, and counts Services by winner', async () => {
  const metrics = createMetrics(new NodeReader(proxy));
  const counted = async () => {
    metrics.read();
    const text = await metrics.registry.metrics();
    return {
      handled: Number(/handling_seconds_count (\d+)/.exec(text)?.[1]),
      decisions: [...text.matchAll(/service_decisions\{.*winner="(.*?)".*\} (\d+)/g)].map(
        ([, winner, count]) => `${winner} ${count}`,
      ),
    };
  };
  expect(await counted()).toEqual({ handled: 0, decisions: [] });
  const path = '/apis/discovery.k8s.io/v1/endpointslices';
  expect((await fetch(`${proxy.url}${path}`)).status).toBe(200);
  expect(await counted()).toEqual({ handled: 0, decisions: [] });
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  const after = { handled: 2, decisions: ['kubernetes.io/hostname 1'] };
  await eventually(counted, after);
  // A scrape does not add to the one before.
  expect(await counted()).toEqual(after);
});

// The library gives a metric without labels the value 0 when it is reset, so alerts on 0 fired for what was not known.
test('a metric without labels has no sample while its value is not known', async () => {
  const plain = await useWrapper(proxy.upstream.failover.servers[0]?.href ?? '');
  const metrics = createMetrics(new NodeReader(plain));
  const dryRuns = async () => {
    metrics.read();
    return /^kube_proxy_wrapper_services_dry_run .*$/m.exec(await metrics.registry.metrics());
  };
  expect(await dryRuns()).toBeNull();
  const path = '/apis/discovery.k8s.io/v1/endpointslices';
  expect((await fetch(`${plain.url}${path}`)).status).toBe(200);
  expect((await dryRuns())?.[0]).toBe('kube_proxy_wrapper_services_dry_run 0');
});

test('the label of an API server has its host and path, but no credentials', async () => {
  const upstream = proxy.upstream.failover.servers[0]?.href ?? '';
  const { host } = new URL(upstream);
  const servers = ['/one', '/two'].map((path) => new URL(`https://user:secret@${host}${path}`));
  const several = await useWrapper(upstream, { servers });
  const inUse = [...(await metricsOf(several)).matchAll(/server_in_use\{server="(.*)"\} (\d)/g)];
  expect(inUse.map(([, name, value]) => `${name} ${value}`).sort()).toEqual([
    `${host} 1`,
    `${host}/one 0`,
    `${host}/two 0`,
  ]);
});

test('whether a node reads from a relay is known where there should be one', async () => {
  const api = proxy.upstream.failover.servers[0]?.href ?? '';
  const files = await writeServingFiles(useFolder());
  const relay = await useRelayOf(api, files);
  const behindRelay = await useWrapper(api, behind(api, files, relay));
  const inUse = async (of: NodeProxy) =>
    /^kube_proxy_wrapper_upstream_relay_in_use (\d)$/m.exec(await metricsOf(of))?.[1];
  await eventually(() => inUse(behindRelay), '1');
  // Its authority cannot be read.
  expect(await inUse(proxy)).toBe('0');
  expect(await inUse(await useWrapper(api))).toBeUndefined();
});

test('a feature that is switched off has no metrics', async () => {
  const plain = await useWrapper(proxy.upstream.failover.servers[0]?.href ?? '');
  const text = await metricsOf(plain);
  expect(text).toMatch(/client_connections\{/);
  expect(text).not.toMatch(/https_certificate|access_reviews|snapshot_(bytes|write|set)|policy_ev/);
});

async function samplesOf(name: string): Promise<string[]> {
  const text = await metricsOf(proxy);
  return text.split('\n').filter((line) => line.startsWith(`${PREFIX}${name}{`));
}

/* Any local process chooses its selectors, and each was once a series of its own in 13 metrics. */
test('queries of clients share one series for each collection, however many they are', async () => {
  const path = '/apis/discovery.k8s.io/v1/endpointslices';
  const selectors = ['a=1', 'a=2', 'b in (c,d)', 'e!=f'].map(encodeURIComponent);
  const bySelector = selectors.map((each) => `${path}?labelSelector=${each}`);
  const paths = [...bySelector, '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices'];
  for (const each of paths) expect((await fetch(proxy.url + each)).status).toBe(200);
  const isJson = (line: string) => line.includes('encoding="json"');
  for (const name of [
    'view_objects',
    'view_started',
    'upstream_lists_total',
    'upstream_connected',
  ]) {
    const series = (await samplesOf(name)).filter(isJson);
    expect(series).toHaveLength(1);
    expect(series[0]).toContain(`collection="${path}"`);
  }
  const lists = (await samplesOf('upstream_lists_total')).find(isJson);
  expect(Number(lists?.split(' ').at(-1))).toBeGreaterThanOrEqual(paths.length);
});

test('queries of kube-proxy keep their own series', async () => {
  const path = '/api/v1/nodes?fieldSelector=metadata.name%3Dedge-1';
  expect(await samplesOf('view_started')).toContain(
    `${PREFIX}view_started{collection="${path}",encoding="protobuf"} 1`,
  );
});

test('counts requests by listener and status code', async () => {
  const counts = async (code: string) => {
    const lines = await samplesOf('requests_total');
    const own = lines.find((line) => line.includes(`listener="listen",code="${code}"`));
    return Number(own?.split(' ').at(-1) ?? 0);
  };
  const before = { ok: await counts('200'), forbidden: await counts('403') };
  await (await fetch(`${proxy.url}/api/v1/services`)).text();
  await (await fetch(`${proxy.url}/api/v1/secrets`)).text();
  await (await fetch(`${proxy.url}/api/v1/secrets`, { method: 'POST', body: 'x' })).text();
  await eventually(() => counts('200'), before.ok + 1);
  await eventually(() => counts('403'), before.forbidden + 2);
});
