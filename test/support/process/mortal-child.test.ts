import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { eventually } from '../../e2e/support/eventually.ts';
import { spawnMortal } from './mortal-child.ts';

/** Prints its pid and that of the program that it starts, and then waits. */
const CHILD = 'sleep 600 & echo $$ $!; wait';

test('a child and its own children are killed when the parent ends, however it ends', async () => {
  const parent = spawn(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    `import { spawnMortal } from ${JSON.stringify(new URL('mortal-child.ts', import.meta.url))};
     spawnMortal('sh', ['-c', ${JSON.stringify(CHILD)}], { stdout: 'inherit' });`,
  ]);
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  const pids = line.split(' ');
  expect(pids.map(isRunning)).toEqual([true, true]);
  parent.kill('SIGKILL');
  await eventually(
    () => pids.some(isRunning),
    (any) => !any,
  );
});

test('when a child ends, its code is reported and its own children are killed', async () => {
  const child = spawnMortal('sh', ['-c', 'sleep 600 & echo $!; exit 3'], { stdout: 'pipe' });
  let output = '';
  child.stdout?.on('data', (text) => {
    output += text;
  });
  expect(await once(child, 'close')).toEqual([3, null]);
  await eventually(
    () => isRunning(output.trim()),
    (running) => !running,
  );
});

/** Whether a process runs. A zombie does not. */
function isRunning(pid: string): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !/\) Z /.test(readFileSync(stat, 'latin1'));
}
