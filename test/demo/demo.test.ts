import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const ROOT = new URL('../..', import.meta.url).pathname;

/** Runs the demo and types these lines after its tour; returns its output. */
async function runDemo(lines: readonly string[]): Promise<{ code: number; out: string }> {
  const child = spawn(process.execPath, ['src/main.ts', 'demo'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out };
}

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-proxy-wrapper-test-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** The shown addresses of the last table. */
function shownIn(out: string): string[] {
  const [table = ''] = out.split('SERVICE  ').slice(-1);
  return table.split('\n').flatMap((line) => {
    const [, address, shown] = /(10\.[0-9.]+) +.*? {2}(yes|-) /.exec(line) ?? [];
    return address !== undefined && shown === 'yes' ? [address] : [];
  });
}

describe('npm run demo', () => {
  test('shows the effect of each command, and the error of an invalid one', async () => {
    const { code, out } = await runDemo([
      'annotate web topologyKeys=["site"]',
      'label nobody site=x',
      'label edge-1 site=a-',
      'fly',
      'notready 10.244.1.30',
      'quit',
    ]);
    expect(code).toBe(0);
    expect(out).toMatch(/unknown command "fly"/);
    expect(out).toMatch(/nobody/);
    expect(out).toContain('site=a- is not a label; site- removes one');
    const shown = shownIn(out);
    expect(shown).toEqual(expect.arrayContaining(['10.244.1.10', '10.244.2.10']));
    expect(shown).not.toContain('10.244.101.10');
  }, 30_000);

  // A run that did not end with `quit` once left a folder with a kubeconfig.
  test('leaves no file if it is interrupted', async () => {
    const child = spawn(process.execPath, ['src/main.ts', 'demo'], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    for await (const chunk of child.stdout) if (String(chunk).includes('SERVICE  ')) break;
    child.kill('SIGINT');
    await once(child, 'exit');
    expect(await readdir(folder)).toEqual([]);
  }, 30_000);

  test('names the existing nodes if --node is unknown', async () => {
    const child = spawn(process.execPath, ['src/main.ts', 'demo', '--node', 'nobody'], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^there is no node nobody in examples\/cluster.yaml; the nodes are .*edge-1.*\n$/,
    );
    expect(await readdir(folder)).toEqual([]);
  }, 30_000);

  test('the tour moves this node to another site and back', async () => {
    const { out } = await runDemo(['quit']);
    const tables = out.split('SERVICE  ').slice(1);
    const db = tables.map((table) => /10\.244\.102\.20 .*? {2}(yes|-) /.exec(table)?.[1]);
    expect(db).toContain('yes');
    expect([db[0], db.at(-1)]).toEqual(['-', '-']);
  }, 30_000);
});
