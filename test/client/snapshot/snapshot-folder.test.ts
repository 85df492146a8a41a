import { execFileSync } from 'node:child_process';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { makeAuthority } from '../../../harness/certificates.ts';
import type { QueryState } from '../../../src/client/snapshot/query-state.ts';
import {
  SnapshotFolder,
  type SnapshotFolderOptions,
} from '../../../src/client/snapshot/snapshot-folder.ts';
import type { Change } from '../../../src/filter/objects/change.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';
import { useFastFolder } from '../../support/use-folder.ts';
import { useState } from '../../support/wrapper/state-fixture.ts';

const QUERY = 'protobuf /api/v1/services';

let base: string;
let folder: string;
let lines: readonly LogLine[];
let logger: SnapshotFolderOptions['logger'];
let credentials: FakeCredentials;

beforeEach(() => {
  base = useFastFolder();
  folder = join(base, 'state');
  ({ logger, lines } = recordingLogger());
  credentials = new FakeCredentials(new URL('https://10.0.0.1:6443'));
});

afterEach(() => void jest.restoreAllMocks());

/** Starts a process that keeps the objects of these queries. It ends with the test. */
function start(options: Partial<SnapshotFolderOptions> = {}, queries: readonly string[] = [QUERY]) {
  const snapshots = new SnapshotFolder({
    ...useState(),
    folder,
    nodeName: 'edge-1',
    serverAccess: credentials,
    logger,
    ...options,
  });
  closedLater(snapshots);
  const states = queries.map((query) => snapshots.writer.open(query));
  const [state] = states as [QueryState];
  return { snapshots, states, state };
}

function change(key: string, text: string): Change {
  const [name, uid, resourceVersion, namespace] = [key, key, '1', ''];
  const facts = { name, namespace, uid, resourceVersion };
  return { type: 'ADDED', key, facts, object: Buffer.from(text) };
}

/** Writes one snapshot as an earlier process would have; returns the path of the file. */
async function leave(
  text = 'object',
  options: Partial<SnapshotFolderOptions> = {},
): Promise<string> {
  const { snapshots, state } = start(options);
  state.update([change('web', text)], '7');
  await snapshots.close();
  const [name = ''] = (await readdir(folder)).filter((each) => each.endsWith('.snapshot'));
  return join(folder, name);
}

async function loadAgain() {
  const { snapshots, state } = start();
  const stored = await snapshots.load(state);
  await snapshots.close();
  return stored && { version: stored.resourceVersion, objects: stored.objects.map(String) };
}

const files = async () => (await readdir(folder)).sort();

describe('a snapshot', () => {
  test('is there for the next process, without token or key, and other users cannot read it', async () => {
    credentials.token = 'very-secret';
    const path = await leave();
    expect(await readFile(path, 'latin1')).not.toMatch(/very-secret|PRIVATE KEY/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await loadAgain()).toEqual({ version: '7', objects: ['object'] });
  });

  test('is rewritten for a rotated authority, so that the next process still trusts it', async () => {
    const [old, next] = [(await makeAuthority('old')).cert, (await makeAuthority('next')).cert];
    credentials.setTls({ ca: old });
    const { snapshots, states } = start({}, [QUERY, 'protobuf /api/v1/nodes']);
    const [services, nodes] = states as [QueryState, QueryState];
    services.update([change('web', 'object')], '7');
    await eventually(() => snapshots.counters.writes, 1);
    credentials.setTls({ ca: old + next });
    // Any write shows it, such as one of the own Node.
    nodes.update([], '8');
    await eventually(() => snapshots.counters.writes, 3);
    await snapshots.close();
    credentials.setTls({ ca: next });
    expect(await loadAgain()).toEqual({ version: '7', objects: ['object'] });
  });
});

describe('a file that cannot be trusted', () => {
  test.each([
    ['torn', 'cut short', async (path: string) => await truncate(path, 100)],
    [
      'newer',
      'of a newer format',
      async (path: string) => {
        const bytes = await readFile(path);
        bytes.writeUInt32BE(9, 8);
        await writeFile(path, bytes);
      },
    ],
    ['foreign', 'of another node', async () => await leave('object', { nodeName: 'edge-2' })],
    [
      'foreign',
      'of another address',
      async () =>
        await leave('object', {
          serverAccess: new FakeCredentials(new URL('https://10.9.9.9:6443')),
        }),
    ],
    [
      'foreign',
      'of another authority',
      async () => {
        const { cert: ca } = await makeAuthority('other');
        const other = new FakeCredentials(new URL('https://10.0.0.1:6443'), { ca });
        await leave('object', { serverAccess: other });
      },
    ],
    [
      'foreign',
      'of another query',
      async (path: string) => {
        const { snapshots, state } = start({}, ['protobuf /api/v1/nodes']);
        state.update([], '1');
        await snapshots.close();
        const [name = ''] = (await files()).filter((each) => each.startsWith('nodes'));
        await rename(join(folder, name), path);
      },
    ],
  ] as const)(
    'is set aside as %s when it is %s, with a line that names it',
    async (cause, _, spoil) => {
      const path = await leave();
      await spoil(path);
      expect(await loadAgain()).toBeUndefined();
      expect(await files()).toEqual([`set-aside.${cause}`]);
      expect(lines.filter(({ level }) => level >= 50)).toEqual([
        expect.objectContaining({
          file: join(folder, `set-aside.${cause}`),
          query: QUERY,
          cause,
          problem: expect.stringMatching(/./),
          msg: expect.stringMatching(/^a snapshot was set aside: .*delete/),
        }),
      ]);
    },
  );

  test('is kept once per cause', async () => {
    for (let n = 0; n < 3; n++) {
      await truncate(await leave(), 20 + n);
      await loadAgain();
    }
    expect(await files()).toEqual(['set-aside.torn']);
    expect((await stat(join(folder, 'set-aside.torn'))).size).toBe(22);
  });

  test('counts for the limit of the disk, and makes room for a snapshot', async () => {
    await truncate(await leave('x'.repeat(70_000)), 60_000);
    await loadAgain();
    expect(await files()).toEqual(['set-aside.torn']);
    const { snapshots, state } = start({ maxBytes: 100_000 });
    const write = async (bytes: number) => {
      state.update([change('web', 'x'.repeat(bytes))], '1');
      await snapshots.flush();
    };
    await write(10_000);
    expect(snapshots.bytes).toBeGreaterThan(70_000);
    await write(50_000);
    expect(await files()).toEqual([expect.stringMatching(/[.]snapshot$/)]);
  });
});

describe('the disk', () => {
  /** Waits until an object of this size is written, or cannot be. */
  async function write(snapshots: SnapshotFolder, state: QueryState, bytes: number) {
    const attempts = () => snapshots.counters.writes + snapshots.counters.failures;
    const before = attempts();
    state.update([change('web', 'x'.repeat(bytes))], '1');
    await eventually(attempts, before + 1);
  }

  /*
   * The message of an error names the file, which has another name each time. On a read-only disk each attempt of each
   * query was logged.
   */
  test.each<[string, () => Promise<void>, () => Promise<void>, RegExp]>([
    [
      'whose folder is a file',
      async () => {
        await rm(folder, { recursive: true });
        await writeFile(folder, '');
      },
      async () => await rm(folder),
      /is not a folder/,
    ],
    [
      'that has folders in place of the files',
      async () => {
        for (const name of await files()) {
          await rm(join(folder, name));
          await mkdir(join(folder, name, 'in-the-way'), { recursive: true });
        }
      },
      // Not removed one by one: a write may be under way.
      async () => await rename(folder, join(base, 'away')),
      /EISDIR|ENOTEMPTY/,
    ],
  ])(
    '%s is logged once, a problem, and logged once when it works again',
    async (_, spoil, mend, problem) => {
      const { snapshots, states } = start({ retryMs: 20 }, [QUERY, 'protobuf /api/v1/nodes']);
      for (const state of states) state.update([], '7');
      await eventually(() => snapshots.counters.writes, 2);
      await spoil();
      for (const state of states) state.update([change('web', 'new')], '8');
      await eventually(() => snapshots.counters.failures > 3, true);
      expect(snapshots.problem).toMatch(problem);
      expect(lines.map(({ msg }) => msg)).toEqual([
        'a snapshot cannot be written, the one before is kept (stateDir)',
      ]);
      await mend();
      await eventually(() => snapshots.problem, undefined);
      expect(lines.at(-1)?.msg).toBe('all snapshots can be written again (stateDir)');
      await snapshots.close();
      expect(await loadAgain()).toEqual({ version: '8', objects: ['new'] });
    },
  );

  // While one process replaces another, each lists files that the other renames or removes a moment later.
  test('that two processes write to works with files that have gone', async () => {
    await mkdir(folder);
    for (const name of ['x.snapshot.1.tmp', 'y.snapshot'])
      await symlink(join(folder, 'gone'), join(folder, name));
    await leave();
    expect(await loadAgain()).toEqual({ version: '7', objects: ['object'] });
    expect(lines).toEqual([]);
  });

  // 1.2.0 does not write the boot.
  test.each(['', 'boot'])(
    'of an earlier process whose clock was ahead is replaced (%j)',
    async (bootId) => {
      const future = Date.now() + 86_400_000;
      const clock = jest.spyOn(Date, 'now').mockReturnValue(future);
      await leave('of tomorrow', { bootId });
      clock.mockRestore();
      await leave('of today');
      expect(await loadAgain()).toEqual({ version: '7', objects: ['of today'] });
    },
  );

  test.each(['', 'boot'])(
    'that is newer is not replaced by an older state that was written late (%j)',
    async (bootId) => {
      const { snapshots, states } = start({ bootId }, [QUERY, QUERY]);
      const [older, newer] = states as [QueryState, QueryState];
      const now = Date.now();
      const clock = jest.spyOn(Date, 'now').mockReturnValue(now - 1_000);
      older.update([change('web', 'older')], '7');
      clock.mockReturnValue(now);
      newer.update([change('web', 'newer')], '8');
      for (const state of [newer, older]) snapshots.writer.closeState(state);
      await snapshots.close();
      expect(await loadAgain()).toEqual({ version: '8', objects: ['newer'] });
    },
  );

  test('never holds more than stateMaxBytes: unused files are removed first, then the error names the setting', async () => {
    const maxBytes = 100_000;
    const old = start({ maxBytes }, ['a /x', 'b /x']);
    for (const state of old.states) await write(old.snapshots, state, 40_000);
    await old.snapshots.close();
    const { snapshots, states } = start({ maxBytes }, ['c /x', 'd /x']);
    const [first, second] = states as [QueryState, QueryState];
    await write(snapshots, first, 50_000);
    expect(snapshots.bytes).toBeLessThan(maxBytes);
    expect(await files()).toHaveLength(2);
    await write(snapshots, second, 60_000);
    expect(snapshots.counters.failures).toBe(1);
    expect(lines.at(-1)).toMatchObject({ err: expect.stringContaining('stateMaxBytes=100000') });
  });

  /** What all open files have in common. */
  async function openFiles(): Promise<FileHandle> {
    const file = await open('/dev/null');
    await file.close();
    return Object.getPrototypeOf(file);
  }

  test('that hangs does not keep the process from ending for more than 5 s, which is logged once', async () => {
    const hanging = Promise.withResolvers<void>();
    jest.spyOn(await openFiles(), 'sync').mockReturnValue(hanging.promise);
    const { snapshots, states } = start({}, ['a /x', 'b /x', 'c /x', 'd /x']);
    for (const state of states) state.update([change('web', 'new')], '8');
    const started = performance.now();
    for (const state of states) snapshots.writer.closeState(state);
    await snapshots.close();
    // Once for all, and not for each.
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(lines).toEqual([
      expect.objectContaining({ err: expect.stringContaining('more than 5 s') }),
    ]);
    hanging.resolve();
  });

  test('that hangs at the start is reported after 2 s, until it works', async () => {
    const queries = ['a /x', 'b /x', 'c /x', 'd /x'];
    const before = start({}, queries);
    for (const state of before.states) state.update([], '6');
    await before.snapshots.close();
    const hanging = Promise.withResolvers<never>();
    const stat = jest.spyOn(await openFiles(), 'stat').mockReturnValue(hanging.promise);
    const { snapshots, states } = start({}, queries);
    const started = performance.now();
    const loaded = states.map((state) => snapshots.load(state));
    expect(await Promise.all(loaded)).toEqual(queries.map(() => undefined));
    // Once for all, and not for each.
    expect(performance.now() - started).toBeLessThan(6_000);
    expect(snapshots.problem).toBe('the disk took more than 2 s');
    expect(states.map((state) => snapshots.wasRead(state))).toEqual(states.map(() => false));
    expect(lines).toHaveLength(1);
    stat.mockRestore();
    hanging.reject(new Error('it came back'));
    for (const state of states) state.update([], '7');
    await eventually(() => snapshots.problem, undefined);
    expect(lines).toHaveLength(2);
  });

  test('that is slow is waited for when the newest state is to be shown', async () => {
    await leave();
    const file = await openFiles();
    const { stat } = file;
    jest.spyOn(file, 'stat').mockImplementation(async function (this: typeof file) {
      await sleep(2_300);
      return await stat.call(this);
    } as typeof stat);
    const { snapshots, state } = start();
    const onSlow = jest.fn();
    expect((await snapshots.loadNewest(state, onSlow))?.resourceVersion).toBe('7');
    expect([lines, onSlow.mock.calls.length]).toEqual([[], 1]);
  });

  test('that hangs is logged once while the process runs, and when it works again', async () => {
    const hanging = Promise.withResolvers<void>();
    jest.spyOn(await openFiles(), 'sync').mockReturnValue(hanging.promise);
    const { snapshots, states } = start({ slowMs: 20 }, ['a /x', 'b /x']);
    for (const state of states) state.update([change('web', 'new')], '8');
    await eventually(() => snapshots.counters.failures, 1);
    expect(snapshots.problem).toContain('the disk took more than 0.02 s');
    expect(lines).toHaveLength(1);
    hanging.resolve();
    await eventually(() => snapshots.counters.writes, 2);
    expect(snapshots.problem).toBeUndefined();
    expect(lines.at(-1)?.msg).toContain('written again');
  });

  test('that fails with the state of a closed view does not remain a problem', async () => {
    const hanging = Promise.withResolvers<never>();
    jest.spyOn(await openFiles(), 'sync').mockReturnValue(hanging.promise);
    const { snapshots, state } = start();
    state.update([change('web', 'new')], '8');
    snapshots.writer.closeState(state);
    hanging.reject(new Error('i/o error'));
    await eventually(() => lines.at(-1)?.err, 'i/o error');
    expect(snapshots.problem).toBeUndefined();
  });

  // A power cut may otherwise leave an empty file, or bring the old one back.
  test('has the new file before its name, and then the name', async () => {
    const synced: number[] = [];
    const prototype = await openFiles();
    const { sync } = prototype;
    jest.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      await sync.call(this);
      synced.push((await files()).filter((name) => name.endsWith('.snapshot')).length);
    });
    await leave();
    expect(synced).toEqual([0, 1]);
  });

  test('loses files whose writer was killed, but not one that is being written', async () => {
    await leave();
    await writeFile(join(folder, 'x.snapshot.1-1.tmp'), 'half');
    await leave();
    expect(await files()).toHaveLength(2);
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 61_000);
    await leave();
    expect(await files()).toEqual([expect.stringMatching(/^services-[0-9a-f]{16}\.snapshot$/)]);
  });

  // As on a disk that has become read-only after a write that failed: the file cannot be removed either.
  test('are read beside such a file that stays', async () => {
    await leave();
    await mkdir(join(folder, 'x.snapshot.1-1.tmp'));
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 61_000);
    expect(await loadAgain()).toEqual({ version: '7', objects: ['object'] });
    expect(lines).toEqual([]);
  });

  // Of the other queries one has not changed, and one comes from disk while the API server is unreachable.
  test('whose folder has gone is made with the next write of any query, and filled with the state of all', async () => {
    const { snapshots, states } = start({}, [
      QUERY,
      'protobuf /api/v1/nodes',
      'protobuf /apis/discovery.k8s.io/v1/endpointslices',
    ]);
    const [services, nodes, slices] = states as [QueryState, QueryState, QueryState];
    services.update([], '7');
    nodes.update([], '7');
    slices.adopt([change('web', 'web')], { resourceVersion: '7', savedAt: 1 });
    await eventually(async () => (await files().catch(() => [])).length, states.length);
    await eventually(() => snapshots.counters.writes, 3);
    await rm(folder, { recursive: true });
    services.update([change('web', 'web')], '8');
    await eventually(async () => (await files().catch(() => [])).length, states.length);
    const stored = await snapshots.load(slices);
    expect(stored).toMatchObject({ resourceVersion: '7', savedAt: 1 });
    expect(stored?.objects.map(String)).toEqual(['web']);
  });

  test('with a file that cannot be read is a problem until the next state replaces the file', async () => {
    const path = await leave();
    await rm(path);
    execFileSync('mkfifo', [path]);
    const { snapshots, state } = start();
    expect(await snapshots.load(state)).toBeUndefined();
    expect(snapshots.problem).toBe('it is not a regular file');
    state.update([change('web', 'web')], '8');
    await eventually(() => snapshots.problem, undefined);
    expect((await snapshots.load(state))?.resourceVersion).toBe('8');
  });
});
