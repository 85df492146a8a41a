import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type StateDisk, startStateDisk } from '../../e2e/faults/node/state-disk.ts';
import { cpuSeconds } from '../../e2e/support/process-figures.ts';
import { runCommand } from '../../e2e/support/run-command.ts';
import { inLanes } from './support/http.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { HERE, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';

jest.setTimeout(120_000);

/** User and group nobody of Debian: anyone but us. */
const OTHER_USER = 65_534;

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

const inFolder = (name: string): string => join(folder, name);

/** Each makes what `stateDir` is to name, and returns its path. */
const HOSTILE: Readonly<Record<string, () => Promise<string>>> = {
  'a FIFO': async () => {
    await runCommand('mkfifo', [inFolder('fifo')]);
    return inFolder('fifo');
  },
  'a link to elsewhere that another user made': async () => {
    mkdirSync(inFolder('elsewhere'));
    symlinkSync(inFolder('elsewhere'), inFolder('link'));
    // One that root made is how systemd lays out StateDirectory= for a DynamicUser.
    lchownSync(inFolder('link'), OTHER_USER, OTHER_USER);
    return inFolder('link');
  },
  '/proc/self': async () => '/proc/self',
  'below /proc': async () => '/proc/kube-proxy-wrapper',
  'a file': async () => {
    writeFileSync(inFolder('file'), '');
    return inFolder('file');
  },
  'a folder of another user that all may write': async () => {
    mkdirSync(inFolder('theirs'));
    chmodSync(inFolder('theirs'), 0o777);
    chownSync(inFolder('theirs'), OTHER_USER, OTHER_USER);
    return inFolder('theirs');
  },
};

/** What became of a start. */
interface Outcome {
  /** How the process ended, and after how many milliseconds; undefined: it runs. */
  readonly ended: { readonly how: string; readonly ms: number } | undefined;
  readonly log: string;
  /** Of /readyz: its status, and the line about snapshots. */
  readonly readyz: string;
  /** Share of a core over 5 seconds. */
  readonly cores: number;
}

const SILENT: Outcome = { ended: undefined, log: '', readyz: '', cores: 0 };

async function startWith(stateDir: string, runBy: readonly string[] = []): Promise<Outcome> {
  const start = performance.now();
  const wrapper = await scene.start({ settings: { stateDir }, wait: false, runBy });
  await Promise.race([wrapper.process.exited, sleep(3_000)]);
  const ending = wrapper.process.ending();
  const log = (): string => wrapper.process.log();
  if (ending !== undefined) {
    const ended = { how: ending, ms: Math.round(performance.now() - start) };
    const outcome = { ended, log: log(), readyz: '', cores: 0 };
    await wrapper.stop();
    return outcome;
  }
  // Its queries give it something to write.
  await startLikeKubeProxy(wrapper.url, HERE, '1.36');
  const before = cpuSeconds(wrapper.process.pid);
  await sleep(5_000);
  const cores = (cpuSeconds(wrapper.process.pid) - before) / 5;
  const { status, body } = await wrapper.admin('/readyz');
  const line = body.split('\n').find((each) => /snapshot|state/i.test(each)) ?? '';
  const outcome = { ended: undefined, log: log(), readyz: `${status} ${line}`, cores };
  await wrapper.stop();
  return outcome;
}

const inWords = ({ ended, readyz, cores }: Outcome): string =>
  ended === undefined
    ? `runs, ${Math.round(cores * 100)} % of a core; readyz: ${readyz}`
    : `ends with ${ended.how} after ${ended.ms} ms`;

describe('F15: stateDir', () => {
  const names = Object.keys(HOSTILE);
  const outcomes = new Map<string, Outcome & { readonly path: string }>();

  beforeAll(async () => {
    await inLanes(names, 3, async (name) => {
      const path = (await HOSTILE[name]?.()) ?? '';
      outcomes.set(name, { path, ...(await startWith(path)) });
    });
  });

  test.each(names)(
    'that is %s fails the start, or readyz reports that nothing is saved',
    (name) => {
      const { path, ...outcome } = outcomes.get(name) ?? { path: '', ...SILENT };
      const message = outcome.log.split('\n').find((line) => line.includes(path)) ?? '';
      const said = message === '' ? 'says nothing' : `says ${message.slice(0, 300)}`;
      report('F15', `${name}: ${inWords(outcome)}; ${said}`);
      if (outcome.ended === undefined) {
        expect(outcome.readyz).toMatch(/snapshot.*(cannot|not |without|refus)/i);
        expect(outcome.cores).toBeLessThanOrEqual(0.2);
      } else {
        expect(outcome.ended.how).toMatch(/^code [1-9]/);
        expect(outcome.ended.ms).toBeLessThan(3_000);
      }
      expect(message).toMatch(/stateDir|state-dir|snapshot/i);
    },
  );

  test.each([
    [
      'read-only',
      async () => await disk.setReadOnly(true),
      async () => await disk.setReadOnly(false),
    ],
    ['full', async () => disk.fill(), async () => disk.free()],
  ])('on a disk that is %s: it runs without, and readyz reports it', async (name, break_, mend) => {
    await break_();
    const outcome = await startWith(disk.folder, disk.runBy).finally(mend);
    report('F15', `a disk that is ${name}: ${inWords(outcome)}`);
    expect(outcome.ended).toBeUndefined();
    expect(outcome.readyz).toMatch(/^200 .*snapshot.*(cannot|not |without)/i);
    expect(outcome.log).toContain(disk.folder);
    expect(outcome.cores).toBeLessThanOrEqual(0.2);
  });
});
