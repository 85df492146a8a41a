import { beforeEach, expect, test } from '@jest/globals';
import { KubeProxyProbe, type ProbeTarget } from '../../../src/admin/status/kube-proxy-probe.ts';
import { closedLater } from '../../support/closed-later.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';

/** Stands for kube-proxy, for a ClusterIP and for a backend. */
let server: TestServer;
let health = 200;
let metrics = '';
let hangs = false;

const QUEUED = 'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds';
const SYNCED = 'kubeproxy_sync_proxy_rules_last_timestamp_seconds';
/** A port on which nothing listens: a kernel without rules refuses a ClusterIP like this, or drops its packets. */
const DEAD = '127.0.0.1:1';

beforeEach(async () => {
  health = 200;
  metrics = '';
  hangs = false;
  const started = await startServer(({ url }, response) => {
    if (hangs) return;
    if (url === '/livez') response.writeHead(health).end();
    else if (url === '/healthz') response.writeHead(503).end();
    else response.end(metrics);
  });
  server = closedLater(started);
});

function probe(shareMs = 0): KubeProxyProbe {
  const port = Number(server.url.port);
  return new KubeProxyProbe({ ports: { health: port, metrics: port }, limitMs: 200, shareMs });
}

function target(clusterIp = server.url.host, backend = server.url.host): ProbeTarget {
  return { clusterIp, backends: [backend] };
}

test('a ClusterIP that nobody answers is told from one that works', async () => {
  expect(await probe().ask(target())).toMatchObject({ clusterIp: true });
  expect(await probe().ask(target(DEAD))).toMatchObject({ clusterIp: false, backend: true });
  expect(await probe().ask(target(DEAD, DEAD))).toMatchObject({ clusterIp: false, backend: false });
  // The kernel may have sent the connection to the backend that is down.
  const backends = [server.url.host, DEAD];
  expect(await probe().ask({ clusterIp: DEAD, backends })).toMatchObject({ backend: false });
  expect(await probe().ask({ clusterIp: undefined, backends: [] })).toMatchObject({
    clusterIp: undefined,
    backend: false,
  });
});

test('a kube-proxy that hangs costs no more than the time limit', async () => {
  hangs = true;
  expect(await probe().ask(target())).toMatchObject({ health: 0, lateSeconds: undefined });
});

// kubernetes/node-problem-detector#1176: /healthz is 503 on each node that the cluster autoscaler removes.
test('a kube-proxy whose node is about to be removed is well', async () => {
  expect((await probe().ask(target())).health).toBe(200);
});

test('what kube-proxy says of itself is read', async () => {
  health = 503;
  const now = Date.now() / 1000;
  metrics = [
    `${QUEUED}{ip_family="IPv4"} ${now - 100}`,
    `${SYNCED}{ip_family="IPv4"} ${now - 300}`,
    `${QUEUED}{ip_family="IPv6"} ${now - 500}`,
    `${SYNCED}{ip_family="IPv6"} ${now - 1}`,
  ].join('\n');
  const late = await probe().ask(target());
  expect(late.health).toBe(503);
  expect(Math.round(late.lateSeconds ?? 0)).toBe(100);
  metrics = `${QUEUED} ${now - 100}\n${SYNCED} ${now - 99}\n`;
  expect((await probe().ask(target())).lateSeconds).toBe(0);
  metrics = 'go_info 1\n';
  expect((await probe().ask(target())).lateSeconds).toBeUndefined();
});

test('a kube-proxy that does not answer is not known', async () => {
  const silent = new KubeProxyProbe({ ports: { health: 1, metrics: 1 }, limitMs: 200 });
  expect(await silent.ask(target())).toEqual({
    health: 0,
    lateSeconds: undefined,
    clusterIp: true,
    backend: false,
  });
});

test('all that ask within the time share one result', async () => {
  const shared = probe(60_000);
  await Promise.all(Array.from({ length: 20 }, () => shared.ask(target())));
  await shared.ask(target());
  // Health, metrics and the ClusterIP.
  expect(server.accepted).toBe(3);
  await server.idle();
});
