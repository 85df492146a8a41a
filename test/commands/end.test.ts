import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { kubeconfigFor } from '../../embedded/kubeconfig.ts';
import { eventually } from '../support/eventually.ts';
import { createSmallCluster } from '../support/small-cluster.ts';
import { startProcess, type WrapperProcess } from '../support/wrapper-process.ts';

let folder: string;
let started: WrapperProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'end-'));
});

afterEach(() => {
  started?.kill();
  rmSync(folder, { recursive: true });
});

function start(kubeconfig: string, ...flags: string[]): WrapperProcess {
  const at = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  started = startProcess(['--node-name', 'edge-1', '--kubeconfig', kubeconfig, ...at, ...flags]);
  return started;
}

/** A file that hangs whoever reads it, as one on a disk that does not answer. */
function makeHanging(path: string): void {
  expect(spawnSync('mkfifo', [path]).status).toBe(0);
}

/** Waits until somebody has opened such a file; returns how to be rid of him. */
async function opened(path: string): Promise<() => void> {
  for (;;) {
    try {
      const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      return () => closeSync(fd);
    } catch {
      await delay(20);
    }
  }
}

// Node waits for threads that read a file, also in process.exit().
test('a signal ends the process while it waits for its kubeconfig', async () => {
  const kubeconfig = join(folder, 'kubeconfig');
  makeHanging(kubeconfig);
  const { child } = start(kubeconfig);
  const release = await opened(kubeconfig);
  child.kill('SIGTERM');
  const patience = { signal: AbortSignal.timeout(10_000) };
  expect(await once(child, 'close', patience)).toEqual([0, null]);
  release();
});

test('a disk that hangs does not keep the process from ending', async () => {
  const server = createSmallCluster();
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(await server.listen()));
  const state = join(folder, 'state');
  const first = start(kubeconfig, '--state-dir', state);
  const { admin } = await first.logged('listening');
  await eventually(async () => (await fetch(`${admin}/readyz`)).status, 200);
  expect(await first.stop()).toBe(0);
  const [name = ''] = readdirSync(state);
  expect(name).toMatch(/^nodes-.*\.snapshot$/);
  rmSync(join(state, name));
  makeHanging(join(state, name));
  const second = start(kubeconfig, '--state-dir', state);
  const release = await opened(join(state, name));
  await second.logged('listening');
  const closed = once(second.child, 'close', { signal: AbortSignal.timeout(10_000) });
  second.child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
  release();
  await server.close();
});
