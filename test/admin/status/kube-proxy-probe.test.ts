import { beforeEach, expect, test } from '@jest/globals';
import { probeKubeProxy } from '../../../src/admin/status/kube-proxy-probe.ts';
import type { Address } from '../../../src/util/address.ts';
import { closedLater } from '../../support/closed-later.ts';
import { startServer, type TestServer } from '../../support/http/http-server.ts';

/** Stands for kube-proxy, for a ClusterIP and for a backend. */
let server: TestServer;
let health = 200;
let metrics = '';
let mode = '';
let hangs = false;

const QUEUED = 'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds';
const SYNCED = 'kubeproxy_sync_proxy_rules_last_timestamp_seconds';
/** A port on which nothing listens: a kernel without rules refuses a ClusterIP like this, or drops its packets. */
const DEAD = { host: '127.0.0.1', port: 1 };

beforeEach(async () => {
  health = 200;
  metrics = '';
  mode = '';
  hangs = false;
  const started = await startServer(({ url }, response) => {
    if (hangs) return;
    if (url === '/livez') response.writeHead(health).end();
    else if (url === '/healthz') response.writeHead(503).end();
    else if (url === '/proxyMode') response.writeHead(mode === '' ? 404 : 200).end(mode);
    else response.end(metrics);
  });
  server = closedLater(started);
});

const live = () => ({ host: '127.0.0.1', port: Number(server.url.port) });

/** @param port where kube-proxy answers */
function probe(clusterIp: Address | undefined, backends: readonly Address[], { port } = live()) {
  const ports = { health: port, metrics: port };
  // Only what hangs meets the limit.
  return probeKubeProxy({ clusterIp, backends }, { ports, limitMs: hangs ? 200 : 30_000 });
}

const ask = () => probe(live(), [live()]);

test('a ClusterIP that nobody answers is told from one that works', async () => {
  expect(await ask()).toMatchObject({ clusterIp: true });
  expect(await probe(DEAD, [live()])).toMatchObject({ clusterIp: false, backend: true });
  expect(await probe(DEAD, [DEAD])).toMatchObject({ clusterIp: false, backend: false });
  // The kernel may have sent the connection to the backend that is down.
  expect(await probe(DEAD, [live(), DEAD])).toMatchObject({ backend: false });
  expect(await probe(undefined, [])).toMatchObject({ clusterIp: undefined, backend: false });
});

test('a kube-proxy that hangs costs no more than the time limit', async () => {
  hangs = true;
  expect(await ask()).toMatchObject({ health: 0, lateSeconds: undefined });
});

test('a kube-proxy before 1.28, which has no /livez, is asked for /healthz', async () => {
  health = 404;
  expect(await ask()).toMatchObject({ health: 503 });
});

// kubernetes/node-problem-detector#1176: /healthz is 503 on each node that the cluster autoscaler removes.
test('a kube-proxy whose node is about to be removed is well', async () => {
  expect((await ask()).health).toBe(200);
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
  const late = await ask();
  expect(late.health).toBe(503);
  expect(Math.round(late.lateSeconds ?? 0)).toBe(100);
  metrics = `${QUEUED} ${now - 100}\n${SYNCED} ${now - 99}\n`;
  expect((await ask()).lateSeconds).toBe(0);
  metrics = 'go_info 1\n';
  expect((await ask()).lateSeconds).toBeUndefined();
});

test('the mode of a kube-proxy is read, if it says one', async () => {
  expect((await ask()).mode).toBeUndefined();
  mode = 'ipvs';
  expect((await ask()).mode).toBe('ipvs');
});

test('a kube-proxy that does not answer is not known', async () => {
  expect(await probe(live(), [live()], DEAD)).toEqual({
    health: 0,
    lateSeconds: undefined,
    mode: undefined,
    clusterIp: true,
    backend: false,
  });
});
