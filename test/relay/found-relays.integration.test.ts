import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { SeenRequest } from '../../fake-apiserver/faults.ts';
import { type ServingFiles, writeServingFiles } from '../../harness/certificates.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { SnapshotFolder } from '../../src/client/snapshot/snapshot-folder.ts';
import { SnapshotWriter } from '../../src/client/snapshot/snapshot-writer.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { type LogLine, recordingLogger } from '../support/recording-logger.ts';
import { behind, credentialsFor, useRelayOf } from '../support/relay/relay-fixture.ts';
import { useFolder } from '../support/use-folder.ts';
import { putService } from '../support/wrapper/small-cluster.ts';
import { useState } from '../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../support/wrapper/use.ts';

/** What a stock kube-proxy reads. */
const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless';

/** The token of wrappers; relays have another one. */
const NODE = 'node';

let cluster: ApiServer;
let api: string;
let files: ServingFiles;
let port: number;
let lines: readonly LogLine[];

interface RelayEndpoint {
  readonly ip: string;
  readonly node: string;
  readonly ready?: boolean;
}

/** Creates or replaces the slice of the relays: edge-1 and edge-2 are of this site, edge-3 of another. */
function putRelays(endpoints: readonly RelayEndpoint[], ports = [{ name: 'https', port }]): void {
  const object = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'relay-1',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'relay' },
    },
    addressType: 'IPv4',
    endpoints: endpoints.map(({ ip, node, ready = true }) => ({
      addresses: [ip],
      conditions: { ready },
      nodeName: node,
    })),
    ports: ports.map((each) => ({ protocol: 'TCP', ...each })),
  };
  if (cluster.get('endpointslices', 'relay-1') === undefined)
    cluster.create('endpointslices', object);
  else cluster.update('endpointslices', object);
}

/** The Service has the port `http`, which `putService` gives it, as well as this one. */
function putRelayService(keys: string[] | null): void {
  putService(cluster, 'relay', keys);
  const object = cluster.get('services', 'relay') as unknown as { spec: object };
  cluster.update('services', {
    ...object,
    spec: {
      ...object.spec,
      ports: [
        { name: 'https', port: 443 },
        { name: 'metrics', port: 80 },
      ],
    },
  } as never);
}

const OWN = { ip: '127.0.0.1', node: 'edge-1' };
const FAR = { ip: '127.0.0.3', node: 'edge-3' };

beforeEach(async () => {
  cluster = useCluster({ bookmarkIntervalMs: 100 });
  putRelayService(['site']);
  api = await cluster.listen();
  files = await writeServingFiles(useFolder(), 'relay.default.svc');
  [port] = (await freePorts(1)) as [number];
});

async function useNode(
  options: Parameters<typeof useWrapper>[1] = {},
  raw: object = {},
): Promise<NodeProxy> {
  const recorded = recordingLogger();
  ({ lines } = recorded);
  const relays = { service: 'default/relay', caFile: files.caFile };
  const base = {
    credentials: credentialsFor(api, NODE),
    relays,
    returnMs: 50,
    logger: recorded.logger,
  };
  return await useWrapper(api, { ...base, ...options }, { relays, ...raw });
}

/** Reads as kube-proxy does, in an encoding. Resolves with the status. */
async function read(
  node: NodeProxy,
  accept = 'application/vnd.kubernetes.protobuf',
): Promise<number> {
  const response = await fetch(node.url + SLICES, { headers: { accept } });
  await response.arrayBuffer();
  return response.status;
}

const hosts = (node: NodeProxy) => node.upstream.failover.servers.map(({ host }) => host);
const apiHost = () => new URL(api).host;
const listsOf = ({ views }: NodeProxy): number =>
  views.sources.reduce((sum, { status }) => sum + status.lists, 0);
const problemsOf = () =>
  lines.filter(({ msg }) => msg.includes('no relay is used')).map(({ err }) => String(err));

test.each(['application/vnd.kubernetes.protobuf', 'application/json'])(
  'a wrapper finds the relay of its site in what kube-proxy reads (%s), and uses it without a list',
  async (accept) => {
    const relay = await useRelayOf(api, files, {}, port);
    // The relay has its views, whose windows then begin before those of the other node.
    await read(await useWrapper(api, behind(api, files, relay)), accept);
    await eventually(() => relay.listeners.watches > 3, true);
    const node = await useNode();
    await read(node, accept);
    const before = listsOf(node);
    putRelays([FAR, OWN]);
    await eventually(() => hosts(node), [`127.0.0.1:${port}`, apiHost()]);
    await eventually(() => relay.listeners.watches > 6, true);
    expect(listsOf(node)).toBe(before);
    // One that is replaced is left for the next, and its watches go on.
    putRelays([FAR]);
    await eventually(() => hosts(node), [apiHost()]);
    expect([listsOf(node), relay.listeners.watches > 6]).toEqual([before, true]);
    const found = lines.flatMap(({ relays }) => (relays === undefined ? [] : [relays]));
    expect(found.slice(-2)).toEqual([[`127.0.0.1:${port}`], []]);
  },
);

test('a start with stateDir reads from the relay that was selected last, from the first list on', async () => {
  putRelays([OWN, { ip: '127.0.0.2', node: 'edge-2' }]);
  await Promise.all(
    ['127.0.0.1', '127.0.0.2'].map((host) => useRelayOf(api, files, {}, `${host}:${port}`)),
  );
  const state = useState();
  const first = await useNode({ state });
  await read(first);
  await eventually(() => first.upstream.failover.isRelay(first.upstream.failover.servers[0]), true);
  const order = hosts(first);
  expect(order.length).toBe(3);
  await first.close();
  const before = cluster.requests.length;
  const second = await useNode({ state });
  await read(second);
  expect([hosts(second), second.upstream.failover.switches]).toEqual([order, 0]);
  // All else has come from its relays.
  const direct = cluster.requests
    .slice(before)
    .filter(
      ({ method, headers }) => method === 'GET' && headers.authorization === `Bearer ${NODE}`,
    );
  expect(direct).toEqual([]);
});

test.each([
  [
    'that is damaged',
    (file: string) => writeFileSync(file, readFileSync(file).subarray(1)),
    'torn',
  ],
  ['of another node', () => {}, 'foreign'],
] as const)('a file %s is set aside, and nothing of it is used', async (_, damage, cause) => {
  putRelays([OWN]);
  await useRelayOf(api, files, {}, port);
  const state = useState();
  const first = await useNode({ state });
  await read(first);
  await eventually(() => hosts(first).length, 2);
  await first.close();
  const name = readdirSync(state.folder).find((each) => each.startsWith('relays-')) ?? '';
  damage(join(state.folder, name));
  const nodeName = cause === 'foreign' ? 'edge-3' : 'edge-1';
  const second = await useNode({ state, returnMs: 60_000 }, { nodeName });
  expect(hosts(second)).toEqual([apiHost()]);
  expect(
    lines.filter(({ cause: each, query }) => each === cause && /relays/.test(String(query))).length,
  ).toBe(1);
});

test.each([
  ['has no policy', null, /no policy that selects relays \(no-policy\)/],
  ['does not exist', undefined, /there is no Service default\/relay/],
])('while the Service %s no relay is used, which is said once', async (_, keys, problem) => {
  cluster.delete('services', 'relay');
  if (keys !== undefined) putRelayService(keys);
  putRelays([OWN, FAR]);
  await useRelayOf(api, files, {}, port);
  const node = await useNode();
  await read(node);
  await eventually(() => problem.test(node.upstream.failover.relayProblem ?? ''), true);
  putRelays([OWN]);
  cluster.label('edge-1', 'turn', 'on');
  expect(hosts(node)).toEqual([apiHost()]);
  if (keys === null) cluster.delete('services', 'relay');
  putRelayService(['site']);
  await eventually(() => hosts(node), [`127.0.0.1:${port}`, apiHost()]);
  expect(node.upstream.failover.relayProblem).toBeUndefined();
  expect(new Set(problemsOf()).size).toBe(problemsOf().length);
  expect(problemsOf()[0]).toMatch(problem);
});

test('in a dry run only the relays that the policy would select are used', async () => {
  putRelays([FAR, OWN]);
  await useRelayOf(api, files, {}, port);
  const node = await useNode({}, { dryRun: true });
  await read(node);
  await eventually(() => hosts(node), [`127.0.0.1:${port}`, apiHost()]);
});

// The switch for a hurry moved each node of a site to the slow link.
test('a node whose filter is switched off keeps its relays and finds new ones, also after a restart', async () => {
  putRelays([OWN, FAR]);
  await useRelayOf(api, files, {}, port);
  const node = await useNode();
  await read(node);
  await eventually(() => hosts(node), [`127.0.0.1:${port}`, apiHost()]);
  cluster.patch('nodes', 'edge-1', {
    metadata: { annotations: { 'kube-proxy-wrapper.io/filter': 'off' } },
  });
  await eventually(() => node.topology.nodeContext?.off, true);
  const next = { ip: '127.0.0.2', node: 'edge-2' };
  putRelays([OWN, FAR, next]);
  await eventually(() => hosts(node).length, 3);
  expect(hosts(node)).not.toContain(`127.0.0.3:${port}`);
  expect(problemsOf()).toEqual([]);
  const again = await useNode();
  await read(again);
  await eventually(() => hosts(again).length, 3);
});

test('a relay whose certificate names another Service is not used', async () => {
  putRelays([OWN]);
  const other = await writeServingFiles(useFolder(), 'relay.elsewhere.svc');
  await useRelayOf(api, other, {}, port);
  const options = { relays: { service: 'default/relay', caFile: other.caFile }, state: useState() };
  const first = await useNode({ ...options, returnMs: 60_000 });
  await read(first);
  await eventually(() => hosts(first).length, 2);
  await first.close();
  // It begins with the relay.
  const second = await useNode({ ...options, returnMs: 60_000 });
  await read(second);
  expect(second.upstream.address).toBe(apiHost());
  const [left] = lines.filter(({ msg }) => msg === 'an API server is used instead of a relay');
  expect(String(left?.err)).toContain('its certificate is for another name');
});

// With relays that are gone it had an old state for a minute, after each crash.
test('only the first process after a boot waits for its relays', async () => {
  const state = useState();
  const relayWaitMs = { withSnapshot: 60_000, without: 60_000 };
  const start = (bootId: string) => useNode({ state, bootId, relayWaitMs });
  const relay = await useRelayOf(api, files, {}, port);
  putRelays([OWN]);
  const first = await start('one');
  await read(first);
  await eventually(() => hosts(first), [`127.0.0.1:${port}`, apiHost()]);
  await first.close();
  await relay.close();
  const again = await start('one');
  await read(again);
  expect([again.upstream.waitsForRelays, again.upstream.address]).toEqual([false, apiHost()]);
  await again.close();
  const booted = await start('two');
  await read(booted);
  expect([booted.upstream.waitsForRelays, booted.upstream.failover.switches]).toEqual([true, 0]);
});

describe('with a disk that', () => {
  const relayWaitMs = { withSnapshot: 60_000, without: 200 };
  const isOnDisk = /^relays-/;
  let state: ReturnType<typeof useState>;
  let answers: PromiseWithResolvers<void>;

  /** A node has had a relay, and nothing else is on its disk, which the next process waits for. */
  beforeEach(async () => {
    state = useState();
    putRelays([{ ip: '127.0.0.2', node: 'edge-2' }]);
    const first = await useNode({ state });
    await read(first);
    await eventually(() => hosts(first).length, 2);
    await first.close();
    for (const name of readdirSync(state.folder)) {
      if (!isOnDisk.test(name)) rmSync(join(state.folder, name));
    }
    answers = Promise.withResolvers<void>();
    const { loadPatiently } = SnapshotFolder.prototype;
    jest.spyOn(SnapshotFolder.prototype, 'loadPatiently').mockImplementation(async function (
      this: SnapshotFolder,
      of,
      onSlow,
    ) {
      if (of.query.startsWith('/relays')) await answers.promise;
      return await loadPatiently.call(this, of, onSlow);
    });
  });
  afterEach(() => void jest.restoreAllMocks());

  test('never answers, a node reads from the API server, and then from the relay that it finds there', async () => {
    jest.restoreAllMocks();
    jest.spyOn(SnapshotWriter.prototype, 'inTurn').mockReturnValue(new Promise<never>(() => {}));
    putRelays([OWN]);
    await useRelayOf(api, files, {}, port);
    const node = await useNode({ state, relayWaitMs });
    expect([await read(node), hosts(node)[0]]).toEqual([200, apiHost()]);
    await eventually(() => hosts(node), [`127.0.0.1:${port}`, apiHost()]);
    await eventually(() => lines.some(({ msg }) => msg.startsWith('the disk is slow')), true);
  });

  test('is slow, a node uses the relay from disk as soon as that is known', async () => {
    const relay = await useRelayOf(api, files, {}, `127.0.0.2:${port}`);
    await eventually(() => relay.views.problem, undefined);
    const isDirect = ({ method, headers }: SeenRequest): boolean =>
      method === 'GET' && headers.authorization === `Bearer ${NODE}`;
    cluster.refuse(isDirect, 500);
    const node = await useNode({ state, relayWaitMs });
    expect(hosts(node)).toEqual([apiHost()]);
    answers.resolve();
    await eventually(() => hosts(node)[0], `127.0.0.2:${port}`);
    await eventually(() => read(node), 200);
  });

  test('is slow, a node uses what it has selected by then, and its disk has that', async () => {
    putRelays([OWN]);
    await useRelayOf(api, files, {}, port);
    const node = await useNode({ state, relayWaitMs });
    await read(node);
    const found = [`127.0.0.1:${port}`, apiHost()];
    await eventually(() => hosts(node), found);
    answers.resolve();
    await node.close();
    expect(hosts(node)).toEqual(found);
    const next = await useNode({ state, relayWaitMs });
    expect(hosts(next)).toEqual(found);
  });
});
