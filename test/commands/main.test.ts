import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import { kubeconfigFor } from '../../embedded/kubeconfig.ts';
import { eventually } from '../support/eventually.ts';
import { createSmallCluster } from '../support/small-cluster.ts';
import { recordWatch, STREAMING_LIST } from '../support/watch-recorder.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

let folder: string;
let server: ApiServer;
let kubeconfig: string;
let children: ChildProcess[];

beforeEach(async () => {
  children = [];
  folder = mkdtempSync(join(tmpdir(), 'main-'));
  server = createSmallCluster();
  kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(await server.listen()));
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await server.close();
  rmSync(folder, { recursive: true });
});

function start(args: readonly string[]) {
  const { NODE_NAME: _node, KUBECONFIG: _config, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  return child;
}

/** Runs to the end. */
async function run(...args: string[]) {
  const child = start(args);
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

/** Runs until it listens; returns where. */
async function listening(...args: string[]) {
  const child = start(['run', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', ...args]);
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, listen, admin } = JSON.parse(line) as Record<string, string>;
    if (msg === 'listening') return { child, listen: `${listen}`, admin: `${admin}` };
  }
  throw new Error('it ended before it listened');
}

describe('kube-proxy-wrapper', () => {
  test('--help shows the usage, --version the version', async () => {
    expect(await run('--help')).toMatchObject({
      code: 0,
      out: expect.stringContaining('COMMAND [flags]'),
    });
    expect(await run('--version')).toMatchObject({ code: 0, out: '0.1.0\n' });
  });

  test.each([
    [['walk'], 2, /unknown command "walk"/],
    [['run', '--nodename', 'x'], 2, /--nodename/],
    [['run'], 1, /no node name/],
    [['run', '--node-name', 'n', '--listen', '0.0.0.0:1'], 1, /"0\.0\.0\.0".*loopback only/],
    [['run', '--node-name', 'n', '--listen', '10.0.0.1:80'], 1, /loopback only/],
    [['run', '--node-name', 'n', '--kubeconfig', '/none'], 1, /\/none/],
    [['run', '--node-name', 'n', '--config', '/none.yaml'], 1, /\/none\.yaml/],
    [['run', '--node-name', 'n'], 1, /in-cluster|KUBERNETES_SERVICE_HOST/],
  ])('%j ends with code %d and one clear line', async (args, code, message) => {
    const result = await run(...args);
    expect(result).toMatchObject({ code, err: expect.stringMatching(message) });
    expect(result.err.trimEnd().split('\n')).toHaveLength(1);
  });

  test('an address that is taken is an error that names it', async () => {
    const { child, listen } = await listening('--node-name', 'edge-1', '--kubeconfig', kubeconfig);
    const { host } = new URL(listen);
    const args = [
      '--node-name',
      'edge-1',
      '--kubeconfig',
      kubeconfig,
      '--admin-listen',
      '127.0.0.1:0',
    ];
    const second = await run('run', ...args, '--listen', host);
    expect(second).toMatchObject({ code: 1, err: expect.stringContaining(host) });
    child.kill('SIGTERM');
    await once(child, 'close');
  });

  test('serves, tells how it is, and ends its watches on SIGTERM', async () => {
    const started = await listening('--node-name', 'edge-1', '--kubeconfig', kubeconfig);
    const { child, listen, admin } = started;
    const watch = await recordWatch(
      `${listen}/apis/discovery.k8s.io/v1/endpointslices`,
      STREAMING_LIST,
    );
    await watch.until(1);
    const ready = async () => (await fetch(`${admin}/readyz`)).status;
    await eventually(ready, 200);
    expect(await (await fetch(`${admin}/healthz`)).text()).toBe('ok\n');
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toMatch(/kube_proxy_wrapper_view_objects\{.*endpointslices.*\} 0/);
    expect(metrics).toMatch(/kube_proxy_wrapper_services\{policy="invalid-policy"\} 0/);
    expect(metrics).toMatch(/kube_proxy_wrapper_client_watches 1/);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(0);
    await watch.ended;
    expect(watch.names()).toEqual(['BOOKMARK', 'BOOKMARK']);
  });

  test('is not ready without its Node, and says why', async () => {
    const { admin } = await listening('--node-name', 'nobody', '--kubeconfig', kubeconfig);
    const response = await fetch(`${admin}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.text()).toMatch(/\[-\]own-node failed: there is no Node "nobody"/);
  });
});
