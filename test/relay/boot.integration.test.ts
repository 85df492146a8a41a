import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { type ServingFiles, writeServingFiles } from '../../harness/certificates.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { TimeSlice } from '../../src/admin/explain/time-slice.ts';
import { KernelRules } from '../../src/admin/status/kernel-rules.ts';
import { nodeStatus } from '../../src/admin/status/node-status.ts';
import { NodeReader } from '../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { closedLater } from '../support/closed-later.ts';
import { eventually } from '../support/eventually.ts';
import { type LogLine, recordingLogger } from '../support/recording-logger.ts';
import { credentialsFor, useRelayOf } from '../support/relay/relay-fixture.ts';
import { useFolder } from '../support/use-folder.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useState } from '../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../support/wrapper/use.ts';

/*
 * A site that boots: its nodes start with snapshots, and before its relays. Times are a part of those of the product.
 */

const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless';
const PROTOBUF = { headers: { accept: 'application/vnd.kubernetes.protobuf' } };
/** The token of wrappers; relays have another one. */
const NODE = 'node';
const OLD = '10.0.2.2';
const NEW = '10.0.2.3';
/** Longer than a test lasts. */
const FOR_EVER = { withSnapshot: 600_000, without: 600_000 };

let cluster: ApiServer;
let api: string;
let files: ServingFiles;
let state: ReturnType<typeof useState>;
let ports: readonly number[];
let lines: readonly LogLine[];

beforeEach(async () => {
  cluster = useCluster({ bookmarkIntervalMs: 100 });
  putService(cluster, 'web', ['site']);
  put(OLD);
  api = await cluster.listen();
  files = await writeServingFiles(useFolder());
  ports = await freePorts(2);
  state = useState();
});

function put(ip: string): void {
  putSlice(cluster, 'web-a', 'web', [{ ip, node: 'edge-2' }]);
}

/** Lets a node have snapshots, and changes what they have. */
async function powerCut(): Promise<void> {
  const before = await useWrapper(api, { state, credentials: credentialsFor(api, NODE) });
  await eventually(() => shown(before), OLD);
  await before.close();
  put(NEW);
}

async function boot(
  relayWaitMs: { withSnapshot: number; without: number },
  of = state,
): Promise<NodeProxy> {
  const recorded = recordingLogger();
  ({ lines } = recorded);
  const servers = ports.map((port) => new URL(`https://127.0.0.1:${port}`));
  const relays = { servers, caFile: files.caFile };
  const credentials = credentialsFor(api, NODE);
  return await useWrapper(api, {
    state: of,
    relays,
    relayWaitMs,
    credentials,
    logger: recorded.logger,
  });
}

/** What kube-proxy has. */
async function shown(node: NodeProxy): Promise<string> {
  const body = Buffer.from(await (await fetch(node.url + SLICES, PROTOBUF)).arrayBuffer());
  return /10\.0\.2\.\d/.exec(body.toString('latin1'))?.[0] ?? 'nothing';
}

/** What `status` says about the data. */
async function dataLine(node: NodeProxy): Promise<string> {
  const reader = new NodeReader(node);
  const slice = new TimeSlice(new AbortController().signal);
  const { lines } = await nodeStatus(reader, new KernelRules(reader), slice);
  const data = lines.find(({ id }) => id === 'data');
  return `${data?.text} (${data?.detail})`;
}

/** Requests of wrappers at the API server. */
const direct = (): number =>
  cluster.requests.filter(
    ({ method, headers }) => method === 'GET' && headers.authorization === `Bearer ${NODE}`,
  ).length;

const useRelays = () => Promise.all(ports.map((port) => useRelayOf(api, files, {}, port)));

/** What is at the ports of relays before they are there. */
const BEFORE: Readonly<Record<string, (port: number) => Promise<{ close(): Promise<void> }>>> = {
  'that refuse': async () => ({ close: async () => {} }),
  'that accept, and are silent': async (port) => {
    const server = createServer((socket) => void socket.on('error', () => {}));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return closedLater({ close: () => closeAll(server) });
  },
  'that are not ready': async (port) => {
    const lost = useCluster();
    const url = await lost.listen();
    const relay = await useRelayOf(url, files, { silenceMs: 1 }, port);
    await lost.close();
    await eventually(() => relay.views.problem === undefined, false);
    return relay;
  },
};

async function closeAll(server: Server): Promise<void> {
  server.close();
}

test("a client's own query, of which there is no snapshot, does not end the wait of the node", async () => {
  await powerCut();
  const at = direct();
  const node = await boot({ withSnapshot: 600_000, without: 100 });
  await eventually(() => shown(node), OLD);
  const others = await fetch(
    `${node.url}${SLICES.replace('endpointslices', 'namespaces/default/endpointslices')}`,
    {
      signal: AbortSignal.timeout(1_500),
    },
  ).catch(() => undefined);
  expect(others).toBeUndefined();
  const { relayBootsUntil, switches } = node.upstream.failover;
  expect(relayBootsUntil - performance.now()).toBeGreaterThan(500_000);
  expect([await shown(node), direct(), switches]).toEqual([OLD, at, 0]);
});

describe.each(Object.keys(BEFORE))('with relays %s', (before) => {
  test('a node with snapshots shows these, and waits for a relay, from which it has the newest state', async () => {
    await powerCut();
    const others = await Promise.all(ports.map((port) => BEFORE[before]?.(port)));
    const at = direct();
    const node = await boot(FOR_EVER);
    await eventually(() => shown(node), OLD);
    await delay(1_000);
    const { switches, relayBootsUntil } = node.upstream.failover;
    expect(relayBootsUntil - performance.now()).toBeGreaterThan(500_000);
    expect([await shown(node), direct(), switches]).toEqual([OLD, at, 0]);
    expect(await dataLine(node)).toMatch(/^snapshot \(\d+ s old\)$/);
    expect(node.upstream.failover.isRelay(node.upstream.failover.servers[0])).toBe(true);
    // A silent one is left after a while, which the tests of Line and RelayLimit show.
    if (before === 'that accept, and are silent') return;
    for (const other of others) await other?.close();
    await useRelays();
    await eventually(() => shown(node), NEW);
    expect(direct()).toBe(at);
    expect(lines.filter(({ msg }) => msg.includes('API server is unreachable'))).toEqual([]);
  });
});

test('a node with snapshots has the newest state soon after it has waited for relays in vain', async () => {
  await powerCut();
  const started = performance.now();
  const node = await boot({ withSnapshot: 2_000, without: 1 });
  await eventually(() => shown(node), NEW);
  expect(performance.now() - started).toBeGreaterThan(1_900);
  expect(
    lines.some(
      ({ why, to }) => why === 'has not answered since the start' && to === new URL(api).host,
    ),
  ).toBe(true);
});

test('a node without a snapshot waits for a short time only', async () => {
  const node = await boot({ withSnapshot: 600_000, without: 500 });
  await eventually(() => shown(node), OLD);
  expect(node.upstream.address).toBe(new URL(api).host);
  // Its first lists may take no longer than others.
  expect(node.upstream.relayBootsUntil).toBe(Number.NEGATIVE_INFINITY);
});

test('a node without stateDir waits for a short time only', async () => {
  const node = await boot({ withSnapshot: 500, without: 500 }, undefined);
  await eventually(() => shown(node), OLD);
});

test('a node whose site is cut off shows its snapshots', async () => {
  await powerCut();
  await cluster.close();
  const node = await boot({ withSnapshot: 500, without: 1 });
  await eventually(() => shown(node), OLD);
  await delay(1_500);
  expect(await shown(node)).toBe(OLD);
  expect(node.upstream.waitsForRelays).toBe(false);
});

test('once a relay has answered, the API servers come after it as ever', async () => {
  await powerCut();
  const [relay] = await useRelays();
  const node = await boot(FOR_EVER);
  await eventually(() => shown(node), NEW);
  expect([node.upstream.waitsForRelays, node.upstream.failover.switches]).toEqual([false, 0]);
  expect(relay?.listeners.watches).toBeGreaterThan(0);
});
