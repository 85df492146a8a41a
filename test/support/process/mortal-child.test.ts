import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { eventually } from '../../e2e/support/eventually.ts';
import { spawnMortal } from './mortal-child.ts';

/** Says its pid and that of the program that it starts, and does nothing. */
const CHILD = 'sleep 600 & echo $$ $!; wait';

test('a child dies with its parent, however that ends, and so does what it has started', async () => {
  const parent = spawn(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    `import { spawnMortal } from ${JSON.stringify(new URL('mortal-child.ts', import.meta.url))};
     spawnMortal('sh', ['-c', ${JSON.stringify(CHILD)}], { stdout: 'inherit' });`,
  ]);
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  const pids = line.split(' ');
  expect(pids.map(isThere)).toEqual([true, true]);
  parent.kill('SIGKILL');
  await eventually(
    () => pids.some(isThere),
    (any) => !any,
  );
});

test('its end is heard of, with its code, and it takes what it has started along', async () => {
  const child = spawnMortal('sh', ['-c', 'sleep 600 & echo $!; exit 3'], { stdout: 'pipe' });
  let said = '';
  child.stdout?.on('data', (text) => {
    said += text;
  });
  expect(await once(child, 'close')).toEqual([3, null]);
  await eventually(
    () => isThere(said.trim()),
    (there) => !there,
  );
});

/** Not of what is dead, and whose end nobody has asked for yet. */
function isThere(pid: string): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !/\) Z /.test(readFileSync(stat, 'latin1'));
}
