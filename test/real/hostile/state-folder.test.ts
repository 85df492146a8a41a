import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { startLikeKubeProxy } from '../../../harness/hostile/kube-proxy-queries.ts';
import { HERE, type RealScene, startRealScene } from '../../../harness/hostile/real-scene.ts';
import { report } from '../../../harness/hostile/report.ts';
import { cpuSeconds } from '../../../harness/process/process-figures.ts';
import { type StateDisk, startStateDisk } from '../faults/node/state-disk.ts';

jest.setTimeout(600_000);

/** User and group nobody of Debian: anyone but us. */
const OTHER_USER = 65_534;
/** How long the share of a core is measured, in seconds. */
const SECONDS = 5;

let scene: RealScene;
let folder: string;
let disk: StateDisk;

beforeAll(async () => {
  scene = await startRealScene();
  folder = mkdtempSync(join(tmpdir(), 'kpw-hostile-state-'));
  disk = await startStateDisk(folder);
});

afterAll(async () => {
  await disk?.stop();
  await scene?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

test('F15: a stateDir that is a device ends the start with a message', async () => {
  const stateDir = '/dev/null';
  const wrapper = await scene.start({ settings: { stateDir }, wait: false });
  await wrapper.process.exited;
  expect(wrapper.process.ending()).toMatch(/^code [1-9]/);
  expect(wrapper.process.log()).toContain(`stateDir "${stateDir}" is not a folder`);
});

test.each([
  // In /proc Node's recursive mkdir never ends: it used half a core without a log line.
  ['in /proc', () => ({ stateDir: '/proc/kube-proxy-wrapper', runBy: [] }), () => {}],
  [
    'a folder of another user that all may write',
    () => {
      const theirs = join(folder, 'theirs');
      mkdirSync(theirs);
      chmodSync(theirs, 0o777);
      chownSync(theirs, OTHER_USER, OTHER_USER);
      return { stateDir: theirs, runBy: [] };
    },
    () => {},
  ],
  [
    'on a read-only disk',
    async () => {
      await disk.setReadOnly(true);
      return { stateDir: disk.folder, runBy: disk.runBy };
    },
    async () => await disk.setReadOnly(false),
  ],
  [
    'on a full disk',
    () => {
      disk.fill();
      return { stateDir: disk.folder, runBy: disk.runBy };
    },
    () => disk.free(),
  ],
])('F15: with a stateDir %s it runs without, and readyz reports it', async (name, break_, mend) => {
  const { stateDir, runBy } = await break_();
  try {
    const wrapper = await scene.start({ settings: { stateDir }, runBy });
    // Its queries give it something to write.
    await startLikeKubeProxy(wrapper.url, HERE);
    const before = cpuSeconds(wrapper.process.pid);
    await sleep(SECONDS * 1_000);
    const cores = (cpuSeconds(wrapper.process.pid) - before) / SECONDS;
    const { status, body } = await wrapper.admin('/readyz');
    report('F15', `a stateDir ${name}: ${Math.round(cores * 100)} % of a core`);
    expect(status).toBe(200);
    expect(body).toMatch(/snapshot.*(cannot|not |without)/i);
    expect(wrapper.process.log()).toContain(stateDir);
    expect(cores).toBeLessThanOrEqual(0.2);
    await wrapper.stop();
  } finally {
    await mend();
  }
});
