import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import { kubeconfigFor } from '../../embedded/kubeconfig.ts';
import { createSmallCluster, putService, putSlice } from '../support/small-cluster.ts';
import { freePort, startProcess, type WrapperProcess } from '../support/wrapper-process.ts';
import { hammer } from './hammer.ts';

const ACTIVATOR = new URL('socket-activator.ts', import.meta.url).pathname;
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const TAKES_OVER =
  'another process listens at this address; this one will when its views are complete';

let folder: string;
let server: ApiServer;
let processes: WrapperProcess[];
let port: number;
let adminPort: number;

beforeEach(async () => {
  processes = [];
  folder = mkdtempSync(join(tmpdir(), 'handover-'));
  server = createSmallCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor(await server.listen()));
  [port, adminPort] = [await freePort(), await freePort()];
});

afterEach(async () => {
  for (const started of processes) started.kill();
  await server.close();
  rmSync(folder, { recursive: true });
});

function start(settings: Record<string, unknown> = {}): WrapperProcess {
  const started = startProcess(argumentsOf(settings));
  processes.push(started);
  return started;
}

function argumentsOf(settings: Record<string, unknown>): string[] {
  const config = join(folder, 'settings.yaml');
  writeFileSync(config, JSON.stringify(settings));
  const kubeconfig = join(folder, 'kubeconfig');
  const args = ['--node-name', 'edge-1', '--kubeconfig', kubeconfig, '--config', config];
  return [...args, '--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${adminPort}`];
}

const list = async (): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}${SLICES}`, { headers: { connection: 'close' } })).status;

describe('a planned restart', () => {
  test('ten times over refuses no connection and loses no request and no watch', async () => {
    let current = start();
    await current.logged('listening');
    const client = hammer(`http://127.0.0.1:${port}`, SLICES);
    for (let turn = 0; turn < 10; turn++) {
      const next = start();
      await next.logged('listening');
      expect(next.lines.map(({ msg }) => msg)).toContain(TAKES_OVER);
      await delay(50);
      expect(await current.stop()).toBe(0);
      current = next;
    }
    await client.stop();
    expect(client.seen.failures).toEqual([]);
    expect(client.seen.requests).toBeGreaterThan(200);
    expect(client.seen.watches).toBeGreaterThanOrEqual(10);
  }, 300_000);

  test('the next process has the views that the last one had before it listens', async () => {
    await start().logged('listening');
    const path = `${SLICES}?labelSelector=only%3Dhere`;
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200);
    const line = await start().logged(TAKES_OVER);
    expect(line.views).toContain(path);
  });

  test('the next process does not listen while it cannot answer, and does when nobody else is left', async () => {
    const last = start();
    await last.logged('listening');
    expect(await list()).toBe(200);
    const release = server.hold(({ query }) => query.get('watch') === null);
    const next = start();
    await next.logged(TAKES_OVER);
    await delay(300);
    expect(next.lines.map(({ msg }) => msg)).not.toContain('listening');
    for (let index = 0; index < 20; index++) expect(await list()).toBe(200);
    await last.stop();
    await next.logged('the other process has stopped too soon');
    await next.logged('listening');
    const answer = list();
    release();
    expect(await answer).toBe(200);
  });

  test('SIGTERM that comes too early waits for the next process', async () => {
    const last = start({ handoverSeconds: 30 });
    await last.logged('listening');
    const stopped = last.stop();
    await delay(300);
    expect(await list()).toBe(200);
    expect(last.lines.map(({ msg }) => msg)).not.toContain('stopping');
    const next = start();
    await next.logged('listening');
    expect(await stopped).toBe(0);
    expect(await list()).toBe(200);
  });

  test('a second SIGTERM, or SIGINT, does not wait', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const one = start({ handoverSeconds: 600 });
      await one.logged('listening');
      one.child.kill(signal);
      await delay(100);
      if (signal === 'SIGTERM') one.child.kill(signal);
      const [code] = (await once(one.child, 'close')) as [number];
      expect(code).toBe(0);
    }
  });

  test('a port that another program has is an error', async () => {
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    const started = start();
    const [code] = (await once(started.child, 'close')) as [number];
    other.close();
    expect(code).toBe(1);
  });
});

describe('a socket of systemd', () => {
  test('is served, and connections wait in it over a crash', async () => {
    const activator = startActivated();
    const { listen } = await activator.logged('listening');
    expect(listen).toBe(`http://127.0.0.1:${port}`);
    expect(await list()).toBe(200);
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const before = activator.lines.length;
      process.kill(childOf(activator), signal);
      const answers = await Promise.all([list(), list(), list()]);
      expect(answers).toEqual([200, 200, 200]);
      expect(activator.lines.slice(before).map(({ msg }) => msg)).toContain('listening');
    }
  });
});

/** The wrapper under what stands for systemd. */
function startActivated(): WrapperProcess {
  const args = argumentsOf({});
  const started = startProcess([`${port}`, ...args], ACTIVATOR);
  processes.push(started);
  return started;
}

function childOf({ child: { pid } }: WrapperProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}
