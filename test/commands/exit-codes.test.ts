import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import { kubeconfigFor } from '../../embedded/kubeconfig.ts';
import { createSmallCluster, putService, putSlice } from '../support/small-cluster.ts';
import { recordWatch, STREAMING_LIST, type WatchRecorder } from '../support/watch-recorder.ts';
import { MAIN, startProcess, type WrapperProcess } from '../support/wrapper-process.ts';

const example = new URL('../../examples/cluster.yaml', import.meta.url).pathname;
const NOBODY = ['--admin', '127.0.0.1:1'];

let folder: string;
let server: ApiServer;
let wrapper: WrapperProcess;
let watch: WatchRecorder;
let admin: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exit-codes-'));
  server = createSmallCluster();
  putService(server, 'web', ['site']);
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(await server.listen()));
  const ports = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  wrapper = startProcess([...ports, '--node-name', 'edge-1', '--kubeconfig', kubeconfig]);
  const line = await wrapper.logged('listening');
  admin = new URL(`${line.admin}`).host;
  // explain and diff are about a view that somebody reads.
  const slices = `${line.listen}/apis/discovery.k8s.io/v1/endpointslices`;
  watch = await recordWatch(slices, STREAMING_LIST);
  await watch.until(2);
});

afterAll(async () => {
  await watch?.close();
  wrapper?.kill();
  await server?.close();
  rmSync(folder, { recursive: true });
});

async function codeOf(args: readonly string[]): Promise<number> {
  const { NODE_NAME: _node, KUBECONFIG: _config, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: 'ignore' });
  const [code] = (await once(child, 'close')) as [number];
  return code;
}

type Row = readonly [command: string, code: number, args: () => readonly string[]];
const rows: readonly Row[] = [
  ['run', 1, () => []],
  ['run', 2, () => ['--nodename', 'a']],
  ['explain', 0, () => ['web', '--admin', admin]],
  ['explain', 1, () => NOBODY],
  ['explain', 1, () => ['no-such-service', '--admin', admin]],
  ['explain', 2, () => ['a/b/c']],
  ['diff', 0, () => ['web', '--admin', admin]],
  ['diff', 1, () => ['web', ...NOBODY]],
  ['diff', 1, () => ['no-such-service', '--admin', admin]],
  ['diff', 2, () => []],
  ['simulate', 0, () => ['--from', example, '--service', 'web']],
  ['simulate', 0, () => ['--from', example, '--diff']],
  ['simulate', 1, () => ['--from', join(folder, 'none.yaml')]],
  ['simulate', 2, () => []],
  ['simulate', 3, () => ['--from', example]],
  ['check', 1, () => ['--admin', admin, '--kubeconfig', join(folder, 'none')]],
  ['check', 2, () => ['--mode', 'ebpf']],
  ['check', 3, () => NOBODY],
  ['completion', 0, () => ['bash']],
  ['completion', 2, () => ['tcsh']],
];

test.each(rows)('%s ends with %d', async (command, code, args) => {
  expect(await codeOf([command, ...args()])).toBe(code);
});

test('run ends with 0 at a signal', async () => {
  expect(await wrapper.stop()).toBe(0);
});

describe('the table of docs/commands.md', () => {
  const text = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  const table = [...text.matchAll(/^\| `(\w+)` +((?:\|[^|\n]*){4})\|$/gm)].map(
    ([, command = '', cells = '']) =>
      [
        command,
        cells
          .split('|')
          .slice(1)
          .map((cell) => cell.trim()),
      ] as const,
  );

  test('says of each code what --help says, and is of all commands', async () => {
    expect(table.map(([command]) => command)).toEqual([...new Set(rows.map(([name]) => name))]);
    for (const [command, cells] of table) {
      const child = spawn(process.execPath, [MAIN, command, '--help']);
      const help = (await child.stdout.toArray()).join('');
      const [, sentence = ''] = /\nExit codes: ([\s\S]*?)\.\s/.exec(help) ?? [];
      const told = cells.flatMap((cell, code) => (cell === '' ? [] : [`${code} ${cell}`]));
      expect(told.join(', ')).toBe(sentence.replaceAll('\n', ' '));
    }
  });

  test('has no code that was not seen above', () => {
    const seen = new Set(rows.map(([command, code]) => `${command} ${code}`));
    // At a signal; with a real kube-proxy (test/e2e/explain-commands.test.ts); and nothing is known that would keep
    // a text from being printed.
    const others = new Set(['run 0', 'check 0', 'completion 1']);
    for (const [command, cells] of table) {
      for (const [code, cell] of cells.entries()) {
        const key = `${command} ${code}`;
        expect([key, seen.has(key) || others.has(key)]).toEqual([key, cell !== '']);
      }
    }
  });
});
