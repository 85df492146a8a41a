import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { freePorts } from '../../harness/network/free-port.ts';
import { spawnMortal } from '../support/process/mortal-child.ts';

const MODULE = new URL('../../harness/network/free-port.ts', import.meta.url).href;

// 600 of 13,000: drawn without a reservation, some fourteen would be given twice. Two stages of one test had the
// same one, and a wrapper could not listen.
test('no port is given twice, by one process or by three', async () => {
  const script = `
    import(process.argv[1]).then(async ({ freePorts }) => {
      const drawn = await Promise.all(Array.from({ length: 50 }, () => freePorts(4)));
      console.log(JSON.stringify(drawn.flat()));
      setInterval(() => {}, 60_000);
    });
  `;
  const args = ['-e', script, MODULE];
  const others = [1, 2].map(() => spawnMortal(process.execPath, args, { stdout: 'pipe' }));
  try {
    const theirs = others.map(async ({ stdout }) => {
      if (!stdout) throw new Error('no output');
      const [line] = (await once(stdout, 'data')) as [Buffer];
      return JSON.parse(line.toString()) as number[];
    });
    const ours = Array.from({ length: 50 }, () => freePorts(4));
    const drawn = (await Promise.all([...theirs, ...ours])).flat();
    expect([drawn.length, new Set(drawn).size]).toEqual([600, 600]);
  } finally {
    for (const other of others) other.kill('SIGKILL');
  }
});
