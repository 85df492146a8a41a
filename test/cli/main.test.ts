import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { eventually } from '../support/eventually.ts';
import { recordWatch, STREAMING_LIST } from '../support/guarantees/watch-recorder.ts';
import { REFUSED_COMMANDS } from '../support/process/refused-commands.ts';
import { runInProcess } from '../support/remote/run-in-process.ts';
import { createSmallCluster, putService } from '../support/wrapper/small-cluster.ts';

const MAIN = new URL('../../cli/main.ts', import.meta.url).pathname;

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

function start(args: readonly string[], input?: Buffer) {
  const { NODE_NAME: _node, KUBECONFIG: _config, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  children.push(child);
  return child;
}

/** Runs the program until it ends. */
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

/** Runs the program until it listens; returns its URLs. */
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
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await run('--version')).toMatchObject({ code: 0, out: `${version}\n` });
  });

  // It once ended with a stack trace.
  test.each(['--help', 'version'])('%s with a full disk fails in one line', async (command) => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [MAIN, command], { stdio: ['ignore', full, 'pipe'] });
    const [[code], stderr] = await Promise.all([
      once(child, 'close'),
      text(child.stderr as Readable),
    ]);
    closeSync(full);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^cannot write standard output: ENOSPC: .+\n$/),
    });
  });

  // It once failed late, with `Map.groupBy is not a function`.
  test('an older Node.js is refused immediately', async () => {
    const lie = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`;
    const child = spawn(process.execPath, ['--import', `data:text/javascript,${lie}`, MAIN], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [[code], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^kube-proxy-wrapper: needs Node\.js 24 or newer, .+\n$/),
    });
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(engines).toEqual({ node: '>=24' });
  });

  test.each(REFUSED_COMMANDS)(
    '%j ends with code %d and one clear line',
    async (args, code, message) => {
      // `run` can end its process, and only the program knows the commands that it had.
      const needsProcess = args[0] === 'run' || args.includes('check');
      const result = needsProcess
        ? await run(...args)
        : await runInProcess(KUBE_PROXY_WRAPPER, args);
      expect(result).toMatchObject({ code, err: expect.stringMatching(message) });
      expect(result.err.trimEnd().split('\n')).toHaveLength(1);
    },
  );

  test('manifests come from standard input, folders and a context of the kubeconfig', async () => {
    const simulate = (...args: string[]) => runInProcess(KUBE_PROXY_WRAPPER, ['simulate', ...args]);
    const example = readFileSync('demo/cluster.yaml');
    const all = await simulate('--from', 'demo/cluster.yaml', '-o', 'json');
    mkdirSync(join(folder, 'manifests/deep'), { recursive: true });
    writeFileSync(join(folder, 'manifests/deep/cluster.yml'), example);
    const nested = ['-f', join(folder, 'manifests'), '-o', 'json'];
    expect((await simulate(...nested)).err).toMatch(
      /no \.yaml, \.yml or \.json file; with --recursive/,
    );
    expect((await simulate(...nested, '-R')).out).toBe(all.out);
    const child = start(['simulate', '--from', '-', '-o', 'json'], example);
    expect(await text(child.stdout)).toBe(all.out);
    putService(server, 'web', ['site']);
    const live = await simulate('--kubeconfig', kubeconfig, '--context', 'embedded');
    expect(live).toMatchObject({ code: 0, out: expect.stringContaining('default/web') });
    const wrong = await simulate('--kubeconfig', kubeconfig, '--context', 'prod');
    expect(wrong.err).toContain('"prod" is not among its contexts: embedded');
    server.refuse(({ path }) => path.endsWith('/services'), 403);
    expect(await simulate('--kubeconfig', kubeconfig)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/right to list services, or give the objects with --from .*: /),
    });
  });

  test('serves, reports its state, and ends its watches on SIGTERM', async () => {
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
    expect(metrics).toMatch(/kube_proxy_wrapper_client_watches 1/);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(0);
    await watch.ended;
    expect(watch.names()).toEqual(['BOOKMARK', 'BOOKMARK']);
  });
});
