import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { type Logger, pino } from 'pino';
import { freePorts } from '../../harness/network/free-port.ts';
import { createLogDestination, LOG_OPTIONS } from '../../src/run/log-destination.ts';
import { writeKubeconfig } from '../support/http/kubeconfig.ts';
import { spawnMortal } from '../support/process/mortal-child.ts';
import { MAIN } from '../support/process/wrapper-process.ts';
import { useFolder } from '../support/use-folder.ts';

// Each write fails with ENOSPC. The process once hung then, and could not end.
test('a full disk only costs log lines', async () => {
  const folder = useFolder();
  const kubeconfig = writeKubeconfig(folder, { server: 'http://127.0.0.1:1' }, {});
  const [listen, admin] = await freePorts(2);
  const flags = ['--node-name', 'edge-1', '--kubeconfig', kubeconfig];
  const at = ['--listen', `127.0.0.1:${listen}`, '--admin-listen', `127.0.0.1:${admin}`];
  const script = 'exec "$0" "$@" > /dev/full';
  const args = ['-c', script, process.execPath, MAIN, 'run', ...flags, ...at];
  const child = spawnMortal('/bin/sh', args, { stdout: 'inherit' });
  const patience = { signal: AbortSignal.timeout(30_000) };
  const closed = once(child, 'close', patience);
  try {
    const isAlive = () =>
      fetch(`http://127.0.0.1:${admin}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isAlive())) expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    expect(await closed).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});

test('lines that are lost because nobody reads them are counted', async () => {
  const folder = useFolder();
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const log = createLogDestination(openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK));
  const closed = once(log.stream, 'close');
  try {
    const line = `${'x'.repeat(1023)}\n`;
    for (let lines = 0; lines < 1000; lines++) log.stream.write(line);
    expect(log.dropped).toBe(0);
    for (let lines = 0; lines < 100; lines++) log.stream.write(line);
    expect(log.dropped).toBeGreaterThan(0);
    expect(log.dropped).toBeLessThanOrEqual(100);
  } finally {
    // Reads all, then closes. A stream that is destroyed writes once more after 100 ms, to whatever file has its
    // descriptor by then.
    const reader = spawn('cat', [fifo], { stdio: 'ignore' });
    log.stream.end();
    await closed;
    reader.kill();
  }
});

/** The lines that are in a file after a logger wrote to it. */
async function linesOf(write: (logger: Logger) => void): Promise<string[]> {
  const file = join(useFolder(), 'log');
  const { stream } = createLogDestination(openSync(file, 'w'));
  const closed = once(stream, 'close');
  write(pino({ ...LOG_OPTIONS, base: { node: 'edge-1' } }, stream));
  // flushSync would not wait for the write that has begun.
  stream.end();
  await closed;
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}

test('bidi and C1 controls in a line are escaped without changing its content', async () => {
  const zone = '\u009b31m\u202e\u001b[2J';
  const [line = ''] = await linesOf((logger) => logger.info({ zone }, 'zone'));
  expect(line).toMatch(/^[ -~]+$/);
  expect(JSON.parse(line)).toMatchObject({ zone });
});

const LONG = 'x'.repeat(200_000);

test.each([
  ['a field', { err: LONG }, { err: expect.stringMatching(/^x{1023}…$/) }],
  ['a nested field', { a: { b: [LONG] } }, { a: { b: [expect.stringMatching(/^x{1023}…$/)] } }],
  ['an error', { err: new Error(LONG) }, { err: { message: expect.stringMatching(/^x{1023}…$/) } }],
  ['controls', { zone: '\u202e'.repeat(200_000) }, { zone: expect.stringMatching(/…$/) }],
  [
    'many fields',
    { a: Array<string>(200).fill('x'.repeat(1_000)) },
    { omittedCharacters: expect.any(Number) },
  ],
  ['a key', { [LONG]: 1 }, { omittedCharacters: expect.any(Number) }],
])('a line is cut at 16 KiB, and keeps its message: %s', async (_what, fields, expected) => {
  const [line = '', next = ''] = await linesOf((logger) => {
    logger.info(fields, 'it happened');
    logger.info('next');
  });
  expect(line.length).toBeLessThan(16 * 1024);
  const common = { level: 'info', node: 'edge-1', msg: 'it happened' };
  expect(JSON.parse(line)).toMatchObject({ ...common, ...expected });
  expect(JSON.parse(next)).toMatchObject({ msg: 'next' });
});

test('a long message is cut', async () => {
  const [line = ''] = await linesOf((logger) => logger.warn({ a: Array(99).fill(LONG) }, LONG));
  expect(JSON.parse(line)).toMatchObject({
    level: 'warn',
    msg: expect.stringMatching(/^x{1023}…$/),
  });
});

test('a line of 16 KiB is unchanged', async () => {
  const err = 'x'.repeat(16 * 1024 - 200);
  const [line = ''] = await linesOf((logger) => logger.info({ err }, 'long'));
  expect(JSON.parse(line)).toMatchObject({ err });
});
