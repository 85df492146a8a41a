import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { processListens } from '../../src/client/system/proc-net-tcp.ts';
import { eventually } from '../support/eventually.ts';
import { spawnMortal } from '../support/process/mortal-child.ts';

/*
 * SIGUSR1 opens Node's inspector at 127.0.0.1:9229, where any local user then runs code with the wrapper's identity.
 * The programs close it however they are started. Only the option of Node.js never opens it.
 */
const root = resolve(import.meta.dirname, '../..');
const MAIN = join(root, 'cli/main.ts');
const FLAG = '--disable-sigusr1';
const INSPECTOR = 9229;
/** The bit of SIGUSR1, number 10, in the masks of /proc. */
const SIGUSR1_BIT = 1 << 9;

let child: ReturnType<typeof spawnMortal> | undefined;

afterEach(() => {
  child?.kill('SIGKILL');
});

/** Whether a process handles SIGUSR1. Before, and without Node.js, the signal ends it. */
function handlesSignal(pid = 0): boolean {
  const [, mask = '0'] =
    /^SigCgt:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number.parseInt(mask.slice(-8), 16) & SIGUSR1_BIT) !== 0;
}

test.each([
  ['image/kube-proxy-wrapper', /^#!\/nodejs\/bin\/node (.*)/],
  ['package.json', /"demo": "node (\S+) /],
])('%s starts Node.js without the inspector of SIGUSR1', (name, pattern) => {
  expect(pattern.exec(readFileSync(join(root, name), 'utf8'))?.[1]).toBe(FLAG);
});

test.each(['cli/main.ts', 'cli/kubectl-kpw.ts', 'cli/kubectl-complete-kpw.ts', 'cli/listens.ts'])(
  '%s closes the inspector first',
  (name) => {
    const [first] = /^import.*/m.exec(readFileSync(join(root, name), 'utf8')) ?? [];
    expect(first).toBe("import '../src/run/no-inspector.ts';");
  },
);

test.each([
  ['without the option', []],
  ['with the option', [FLAG]],
])('SIGUSR1 opens no inspector %s, and the process lives', async (_name, options) => {
  child = spawnMortal(process.execPath, [...options, MAIN, 'demo'], { stdout: 'pipe' });
  const started = new Promise((resolve) => child?.stdout?.once('data', resolve));
  // While Node.js itself starts, and again when the program runs.
  await eventually(() => handlesSignal(child?.pid), true);
  child.kill('SIGUSR1');
  await started;
  child.kill('SIGUSR1');
  await delay(1_000);
  expect(processListens(child.pid ?? 0, INSPECTOR)).toBe(false);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});
