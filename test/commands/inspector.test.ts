import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { listenerOwner } from '../../src/proxy/util/listener-owner.ts';
import { spawnMortal } from '../support/process/mortal-child.ts';

/*
 * SIGUSR1 opens Node's inspector at 127.0.0.1:9229, where any local user then runs code with the wrapper's identity.
 * Only the option of Node.js closes that from the first moment.
 */
const root = resolve(import.meta.dirname, '../..');
const MAIN = join(root, 'src/main.ts');
const FLAG = '--disable-sigusr1';
const INSPECTOR = { host: '127.0.0.1', port: 9229 };

let child: ReturnType<typeof spawnMortal> | undefined;

afterEach(() => {
  child?.kill('SIGKILL');
});

test.each([
  ['image/kube-proxy-wrapper', /^#!\/nodejs\/bin\/node (.*)/],
  ['src/main.ts', /^#!\/usr\/bin\/env -S node (.*)/],
  ['package.json', /"demo": "node (\S+) /],
])('%s starts Node.js without the inspector of SIGUSR1', (name, pattern) => {
  expect(pattern.exec(readFileSync(join(root, name), 'utf8'))?.[1]).toBe(FLAG);
});

test('SIGUSR1 opens no inspector, and the process lives', async () => {
  child = spawnMortal(process.execPath, [FLAG, MAIN, 'demo'], { stdout: 'pipe' });
  await new Promise((started) => child?.stdout?.once('data', started));
  child.kill('SIGUSR1');
  await delay(1_000);
  expect(listenerOwner(INSPECTOR) ?? '').not.toContain(`process ${child.pid} `);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});
