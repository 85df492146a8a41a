import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
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
