import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { VERSION } from '../../src/version.ts';
import { closedLater } from '../support/closed-later.ts';
import { eventually } from '../support/eventually.ts';
import { MAIN, startProcess, type WrapperProcess } from '../support/process/wrapper-process.ts';
import { useFastFolder, useFolder } from '../support/use-folder.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useCluster } from '../support/wrapper/use.ts';
import { generateLoad } from './load-generator.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const WAITING = 'stopping when the next process listens';
const NOT_YET_LISTENING =
  'the previous process still listens here; this one starts when its views are complete';
const STOPPED_TOO_SOON =
  'the other process has stopped too soon: requests wait until the views are complete';
const ONLY_A_SNAPSHOT =
  'the API server answers no list, but the previous process still receives changes: this process serves a snapshot ' +
  'only after the previous one has ended; check the API server';

/** Whether the kernel moves the pending connections of a socket that closes to the other socket. */
const MIGRATES = isOn('/proc/sys/net/ipv4/tcp_migrate_req');

let folder: string;
let server: ApiServer;
let port: number;
let adminPort: number;

beforeEach(async () => {
  folder = useFolder();
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor(await server.listen()));
  [port = 0, adminPort = 0] = await freePorts(2);
});

/** URL of a port where nothing listens. */
async function nobody(): Promise<string> {
  const [free] = await freePorts(1);
  return `http://127.0.0.1:${free}`;
}

/** URL of a server that accepts connections and never answers. */
async function silence(): Promise<string> {
  const listener = createServer().listen(0, '127.0.0.1');
  closedLater({ close: async () => void listener.close() });
  await once(listener, 'listening');
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

function kubeconfigOf(url: string): string {
  const file = join(folder, 'astray');
  writeFileSync(file, kubeconfigFor(url));
  return file;
}

function start(settings: Record<string, unknown> = {}, kubeconfig?: string): WrapperProcess {
  const started = startProcess(argumentsOf(settings, kubeconfig));
  closedLater({ close: () => started.kill() });
  return started;
}

/** Starts a process and waits until it listens. */
async function listening(settings: Record<string, unknown> = {}): Promise<WrapperProcess> {
  const started = start(settings);
  await started.logged('listening');
  return started;
}

function argumentsOf(
  settings: Record<string, unknown>,
  kubeconfig = join(folder, 'kubeconfig'),
): string[] {
  const config = join(folder, 'settings.yaml');
  // Without it, processes do not share ports.
  writeFileSync(config, JSON.stringify({ handoverSeconds: 1, ...settings }));
  const args = ['--node-name', 'edge-1', '--kubeconfig', kubeconfig, '--config', config];
  return [...args, '--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${adminPort}`];
}

const list = async (): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}${SLICES}`, { headers: { connection: 'close' } })).status;

interface Stamped {
  readonly metadata: { readonly resourceVersion: string };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
}

/** The current list: its version, and the addresses of the only slice. */
async function listed(): Promise<{ version: string; addresses: readonly string[] }> {
  const response = await fetch(`http://127.0.0.1:${port}${SLICES}`, {
    headers: { accept: 'application/json', connection: 'close' },
  });
  const { metadata, items } = (await response.json()) as Stamped & { items: readonly Stamped[] };
  const addresses = items.flatMap(({ endpoints = [] }) => endpoints.flatMap((e) => e.addresses));
  return { version: metadata.resourceVersion, addresses };
}

/** Watches from a version until the watch ends. */
async function watchFrom(version: string, seconds = 60) {
  const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${version}`;
  const headers = { accept: 'application/json' };
  const response = await fetch(`http://127.0.0.1:${port}${SLICES}?${query}`, { headers });
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  const events = response.status === 200 ? lines.map((line) => JSON.parse(line)) : [];
  return {
    status: response.status,
    events: events as { readonly type: string; readonly object: Stamped }[],
  };
}

describe('a planned restart', () => {
  test('refuses no connection and loses no request and no watch, ten times in a row', async () => {
    let current = await listening();
    const client = generateLoad(`http://127.0.0.1:${port}`, SLICES);
    for (let turn = 0; turn < 10; turn++) {
      const next = await listening();
      expect(next.lines.map(({ msg }) => msg)).toContain(NOT_YET_LISTENING);
      await delay(50);
      expect(await current.stop()).toBe(0);
      current = next;
    }
    await client.stop();
    // The kernel completed these after the last poll of the old socket (docs/operations-node.md). How many those are is
    // a matter of the scheduler; http-listener.test.ts has the ones that are pending before.
    const isLate = (failure: string) =>
      !MIGRATES && /^new connection: (read|write|connect) ECONNRESET/.test(failure);
    expect(client.seen.failures.filter((each) => !isLate(each))).toEqual([]);
    expect(client.seen.requests).toBeGreaterThan(200);
    expect(client.seen.watches).toBeGreaterThanOrEqual(10);
  }, 300_000);

  test('ends a watch with a bookmark; the next process answers 410 to it, and its list misses nothing', async () => {
    let current = await listening({ handoverSeconds: 30 });
    let { version } = await listed();
    const given = new Set([version]);
    for (let turn = 0; turn < 4; turn++) {
      const watched = watchFrom(version);
      const next = start({ handoverSeconds: 30 });
      // One change before the watch ends, and one at any time.
      putSlice(server, 'web-a', 'web', [{ ip: `10.0.${turn}.1`, node: 'edge-1' }]);
      const stopped = current.stop();
      await next.logged('listening');
      putSlice(server, 'web-a', 'web', [{ ip: `10.0.${turn}.2`, node: 'edge-1' }]);
      expect(await stopped).toBe(0);
      const { status, events } = await watched;
      expect(status).toBe(200);
      expect(events.at(-1)?.type).toBe('BOOKMARK');
      const last = events.at(-1)?.object.metadata.resourceVersion ?? '';
      for (const { object } of events) given.add(object.metadata.resourceVersion);
      const error = { type: 'ERROR', object: expect.objectContaining({ code: 410 }) };
      expect(await watchFrom(last)).toEqual({ status: 200, events: [error] });
      // The first list may be older than the last change.
      await eventually(async () => (await listed()).addresses, [`10.0.${turn}.2`]);
      ({ version } = await listed());
      expect(given).not.toContain(version);
      current = next;
    }
  });

  test('the next process opens the views of the last one before it listens', async () => {
    await listening();
    const path = `${SLICES}?labelSelector=only%3Dhere`;
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200);
    server.refuse(({ path: asked }) => asked === '/api/v1/endpoints', 403);
    const refused = `http://127.0.0.1:${port}/api/v1/endpoints`;
    expect((await fetch(refused)).status).toBe(503);
    const next = start();
    const line = await next.logged(NOT_YET_LISTENING);
    expect(line.views).toContain(path);
    // A view that the API server refused to the last process is not awaited.
    expect(line.views).not.toContain('/api/v1/endpoints');
    await next.logged('listening');
  });

  test('the next process listens when its views are complete, or when no other process listens', async () => {
    const last = await listening();
    expect(await list()).toBe(200);
    const release = server.hold(({ query }) => query.get('watch') === null);
    const next = start();
    await next.logged(NOT_YET_LISTENING);
    await delay(300);
    expect(next.lines.map(({ msg }) => msg)).not.toContain('listening');
    for (let index = 0; index < 20; index++) expect(await list()).toBe(200);
    await last.stop();
    await next.logged(STOPPED_TOO_SOON);
    await next.logged('listening');
    const answer = list();
    release();
    expect(await answer).toBe(200);
  });

  test('the next process waits for kube-proxy, also in JSON, and not for what another client reads', async () => {
    await listening();
    const kubeProxys = `${SLICES}?labelSelector=!service.kubernetes.io%2Fheadless`;
    const read = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    expect([await list(), await read(kubeProxys)]).toEqual([200, 200]);
    const isOf = (selector: string) => (request: { path: string; query: URLSearchParams }) =>
      request.path === SLICES && (request.query.get('labelSelector') ?? '') === selector;
    server.hold(isOf(''));
    const release = server.hold(isOf('!service.kubernetes.io/headless'));
    const next = start();
    await next.logged(NOT_YET_LISTENING);
    await delay(300);
    expect(next.lines.map(({ msg }) => msg)).not.toContain('listening');
    release();
    await next.logged('listening');
  });

  // The next process served its snapshot after 10 s: changes came late, and a list was older than the one before.
  test('the last process remains while the next one has only a snapshot, which then has all that was shown', async () => {
    const settings = { handoverSeconds: 3, stateDir: useFastFolder() };
    const last = await listening(settings);
    await eventually(async () => (await listed()).addresses, ['10.0.0.1']);
    server.hold(({ path, query }) => query.get('watch') === null && !path.endsWith('/nodes'));
    const next = start(settings);
    await next.logged(ONLY_A_SNAPSHOT);
    // One change is shown after the next process has found that no list is answered, and more until the end.
    let changes = 1;
    const seen: number[] = [];
    const change = () =>
      putSlice(server, 'web-a', 'web', [{ ip: `10.0.1.${++changes}`, node: 'edge-1' }]);
    const read = async () => {
      const [address = ''] = await listed().then(
        (list) => list.addresses,
        () => [],
      );
      if (address !== '') seen.push(Number(address.split('.').at(-1)));
    };
    change();
    await eventually(async () => (await listed()).addresses, [`10.0.1.${changes}`]);
    expect(next.lines.map(({ msg }) => msg)).not.toContain('listening');
    // While a connection is open the last process ends slowly: its newest state is not on disk at once.
    const open = connect(port, '127.0.0.1').on('error', () => {});
    open.write(`GET ${SLICES} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    await once(open, 'data');
    let isOver = false;
    const stopped = last.stop().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      change();
      await read();
    }
    expect(await stopped).toBe(0);
    await next.logged('listening');
    for (let turn = 0; turn < 20; turn++) await read();
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toBeGreaterThan(2);
    open.destroy();
  });

  test('a process that gets SIGTERM too early waits for the next process', async () => {
    const last = await listening({ handoverSeconds: 30 });
    const stopped = last.stop();
    await last.logged(WAITING);
    expect(await list()).toBe(200);
    expect(last.lines.map(({ msg }) => msg)).not.toContain('stopping');
    await listening();
    expect(await stopped).toBe(0);
    expect(await list()).toBe(200);
  });

  test('a second SIGTERM or SIGINT ends the wait', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const one = await listening({ handoverSeconds: 600 });
      const closed = once(one.child, 'close');
      one.child.kill(signal);
      if (signal === 'SIGTERM') {
        await one.logged(WAITING);
        one.child.kill(signal);
      }
      expect(await closed).toEqual([0, null]);
    }
  });

  test('a next process with wrong settings ends immediately', async () => {
    await listening({ handoverSeconds: 600 });
    const missing = join(folder, 'missing');
    const https = { listen: '127.0.0.1:0', certFile: missing, keyFile: missing };
    const next = start({ https });
    expect(await once(next.child, 'close')).toEqual([1, null]);
    expect(next.lines.map(({ msg }) => msg)).toEqual([`kube-proxy-wrapper ${VERSION} starts`]);
    expect(await list()).toBe(200);
  });

  // A Pod of it is not started until it listens (listens.test.ts), so an update stops there.
  test.each<[what: string, url: () => Promise<string>]>([
    ['is not there', nobody],
    ['accepts, and never answers,', silence],
  ])(
    'a next process whose API server %s listens only when the last one has ended',
    async (_, url) => {
      const last = await listening({ handoverSeconds: 2 });
      const next = start({}, kubeconfigOf(await url()));
      await next.logged(NOT_YET_LISTENING);
      const stopped = last.stop();
      const stopping = await last.logged('stopping');
      expect(await stopped).toBe(0);
      await next.logged(STOPPED_TOO_SOON);
      const listens = await next.logged('listening');
      const at = ({ time }: Record<string, unknown>) => Date.parse(`${time}`);
      expect(at(listens)).toBeGreaterThanOrEqual(at(stopping));
    },
  );

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'a next process that gets %s before it listens ends with code 0, and the last one continues',
    async (signal) => {
      await listening();
      const release = server.hold(({ query }) => query.get('watch') === null);
      const next = start({ handoverSeconds: 600 });
      await next.logged(NOT_YET_LISTENING);
      const closed = once(next.child, 'close');
      next.child.kill(signal);
      expect(await closed).toEqual([0, null]);
      const messages = next.lines.map(({ msg }) => msg);
      expect(messages).toContain('stopping');
      expect(messages).not.toContain('listening');
      release();
      expect(await list()).toBe(200);
    },
  );
});

test('sockets of systemd, which an earlier version used, are refused with the way out', () => {
  const passed = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"';
  const command = [process.execPath, MAIN, 'run', ...argumentsOf({})];
  const { status, stderr } = spawnSync('sh', ['-c', passed, ...command], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/systemctl disable --now kube-proxy-wrapper\.socket/),
  ]);
});

/** Whether a kernel setting is on. Older kernels do not have all of them. */
function isOn(path: string): boolean {
  return existsSync(path) && readFileSync(path, 'latin1').trim() === '1';
}

test('a second wrapper does not start without handoverSeconds, and names the address', async () => {
  await listening({ handoverSeconds: 0 });
  const { NODE_NAME: _node, KUBECONFIG: _config, ...env } = process.env;
  const args = [MAIN, 'run', ...argumentsOf({ handoverSeconds: 0 })];
  const { status, stderr } = spawnSync(process.execPath, args, {
    env,
    encoding: 'utf8',
    timeout: 90_000,
  });
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(`cannot listen on 127.0.0.1:${port} \\(listen\\): .*EADDRINUSE`),
  ]);
  expect(await list()).toBe(200);
});
