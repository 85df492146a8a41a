import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { chooseSeed, createRandom } from '../../../harness/random.ts';
import { stoppedLater } from '../../support/closed-later.ts';
import { type NodeStage, startNodeStage } from './node/node-stage.ts';

jest.setTimeout(600_000);

/** Restarts in a row. */
const RESTARTS = Number(process.env.KPW_RESTARTS ?? 12);
/** A change has to be in the kernels after this: client-go waits for up to 1.6 s before it lists again. */
const WITHIN_MS = 5_000;
/** Changes without a restart, before each, to compare with. */
const QUIET_CHANGES = 3;
/** In the wrapper's log, for debugging: a watch was answered with 410, and its client lists again after a while. */
const EXPIRED = 'too old resource version: a watch cannot continue';
/** In kube-proxy's log: a connection was lost. */
const LOST = /connection (refused|reset)/;

const seed = chooseSeed();
const random = createRandom(seed);
let stage: NodeStage;

beforeAll(async () => {
  process.stderr.write(`moments of KPW_SEED=${seed}\n`);
  stage = stoppedLater(await startNodeStage({ random, logLevel: 'debug' }));
  await stage.restartKubeProxies();
});

/** What all processes of the wrapper have written. */
function log(): string {
  return readFileSync(stage.wrapper.logFile, 'utf8');
}

/** Watches that any process of the wrapper has answered with 410. */
function countExpired(): number {
  return log().split(EXPIRED).length - 1;
}

function describeTimes(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `median ${sorted[sorted.length >> 1]} ms, longest ${sorted.at(-1)} ms`;
}

function print(what: string, times: readonly number[]): void {
  process.stderr.write(`${what}, ms until both kernels are right: ${times.join(' ')}\n`);
}

test('stock kube-proxies lose no connection and no change in a planned restart, and are right again in a few seconds', async () => {
  const quiet: number[] = [];
  const during: number[] = [];
  for (let restart = 0; restart < RESTARTS; restart++) {
    // One that was answered with 410 lately waits twice as long.
    await stage.restartKubeProxies();
    const expired = countExpired();
    for (let turn = 0; turn < QUIET_CHANGES; turn++) quiet.push(await stage.probe());
    let gone = false;
    const replaced = stage.wrapper.replace().finally(() => {
      gone = true;
    });
    await sleep(random.below(100));
    // One change after the other, so that each moment of the restart has one, and one comes after it.
    const times: number[] = [];
    while (!gone) times.push(await stage.probe());
    expect(await replaced).toBe('code 0');
    times.push(await stage.probe());
    expect(log()).not.toContain('stopped too soon');
    expect(countExpired()).toBeGreaterThan(expired);
    print(`restart ${restart + 1}`, times);
    during.push(...times);
  }
  print('changes without a restart', quiet);
  process.stderr.write(
    `${RESTARTS} planned restarts, ${during.length} changes meanwhile: ${describeTimes(during)}; ` +
      `${quiet.length} without a restart: ${describeTimes(quiet)}\n`,
  );
  expect(stage.kubeProxies.map((kubeProxy) => kubeProxy.log()).join('\n')).not.toMatch(LOST);
  // On a slow or busy machine a change takes longer without a restart, too, and two processes share it meanwhile.
  const allowedMs = Math.max(WITHIN_MS, 4 * Math.max(...quiet));
  expect(during.filter((ms) => ms > allowedMs)).toEqual([]);
  await stage.informers.untilReadRight();
});
