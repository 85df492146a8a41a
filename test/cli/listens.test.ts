import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { freePorts } from '../../harness/network/free-port.ts';
import { listeningSockets } from '../support/http/listening-sockets.ts';
import { spawnMortal } from '../support/process/mortal-child.ts';

const PROGRAM = join(resolve(import.meta.dirname, '../..'), 'cli/listens.ts');
/** The first process of a container: asks before it listens, and again when it does. Prints how that ended. */
const CONTAINER = `
const [program, port] = process.argv.slice(1);
const ask = () => new Promise((resolve) => {
  const child = require('node:child_process').spawn(process.execPath, [program, port]);
  let said = '';
  child.stderr.on('data', (part) => { said += part; });
  child.once('close', (code) => resolve([code, said]));
});
ask().then((before) =>
  require('node:net').createServer().listen({ host: '127.0.0.1', port, reusePort: true }, async () => {
    console.log(JSON.stringify([before, await ask()]));
    process.exit();
  }),
);`;

const { listen } = listeningSockets();
/** Only root can create a PID namespace. */
const asRoot = process.geteuid?.() === 0 ? describe : describe.skip;

asRoot('the startup probe of a container, while the Pod before it listens at the same port', () => {
  test('fails until its own process listens', async () => {
    const [port = 0] = await freePorts(1);
    await listen('127.0.0.1', port);
    const apart = ['--pid', '--fork', '--kill-child', '--mount-proc', process.execPath];
    const first = spawnMortal('unshare', [...apart, '-e', CONTAINER, PROGRAM, String(port)], {
      stdout: 'pipe',
    });
    if (first.stdout === null) throw new Error('it has no output');
    const [said] = await Promise.all([text(first.stdout), once(first, 'close')]);
    expect(JSON.parse(said)).toEqual([
      [1, expect.stringMatching(/does not listen at port \d+ yet/)],
      [0, ''],
    ]);
  });
});
