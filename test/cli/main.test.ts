import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { STREAMING_LIST } from '../../harness/streaming-list.ts';
import { CURRENT_SLICES } from '../../src/client/api/kube-proxy-queries.ts';
import { closedLater } from '../support/closed-later.ts';
import { eventually } from '../support/eventually.ts';
import { recordWatch } from '../support/guarantees/watch-recorder.ts';
import { useProcess } from '../support/process/use-process.ts';
import { useFolder } from '../support/use-folder.ts';
import { useCluster } from '../support/wrapper/use.ts';

const EXAMPLE = 'demo/cluster.yaml';
const MAIN = new URL('../../cli/main.ts', import.meta.url).pathname;

function start(args: readonly string[], input?: Buffer) {
  const { NODE_NAME: _node, KUBECONFIG: _config, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  closedLater({ close: () => child.kill('SIGKILL') });
  return child;
}

/** Runs the program until it ends. */
async function run(...args: string[]) {
  const child = start(args);
  const [[code], out, err] = await Promise.all([
    once(child, 'close') as Promise<[number]>,
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, out, err };
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

  // It can end its process, so it runs in one of its own.
  test.each([
    [[], /no node name/],
    [['--node-name', 'n', '--listen', '0.0.0.0:1'], /"0\.0\.0\.0".*loopback only/],
    [['--node-name', 'n', '--kubeconfig', '/none'], /\/none/],
    [['--node-name', 'n', '--config', '/none.yaml'], /\/none\.yaml/],
    [['--node-name', 'n'], /in-cluster|KUBERNETES_SERVICE_HOST/],
  ])('run %j ends with code 1 and one clear line', async (args, message) => {
    const { code, err } = await run('run', ...args);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) });
    expect(err.trimEnd().split('\n')).toHaveLength(1);
  });

  test('manifests come from standard input', async () => {
    const simulate = (from: string) => start(['simulate', '--from', from], readFileSync(EXAMPLE));
    const [piped, read] = await Promise.all(
      ['-', EXAMPLE].map((from) => text(simulate(from).stdout)),
    );
    expect(piped).toBe(read);
    expect(read).toContain('default/web');
  });

  test('serves, reports its state, and ends its watches on SIGTERM', async () => {
    const kubeconfig = join(useFolder(), 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigFor(await useCluster().listen()));
    const { logged, stop } = useProcess(kubeconfig);
    const { listen, admin } = await logged('listening');
    const { labelSelector } = CURRENT_SLICES;
    const watch = await recordWatch(`${listen}/apis/discovery.k8s.io/v1/endpointslices`, {
      ...STREAMING_LIST,
      labelSelector,
    });
    await watch.until(1);
    const ready = async () => (await fetch(`${admin}/readyz`)).status;
    await eventually(ready, 200);
    expect(await (await fetch(`${admin}/healthz`)).text()).toBe('ok\n');
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toMatch(/kube_proxy_wrapper_client_watches 1/);
    expect(await stop()).toBe(0);
    await watch.ended;
    expect(watch.names()).toEqual(['BOOKMARK', 'BOOKMARK']);
  });
});
