import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Change } from '../../../src/filter/codec/change.ts';
import { SnapshotFiles } from '../../../src/proxy/snapshot/snapshot-files.ts';
import {
  SnapshotFolder,
  type SnapshotFolderOptions,
} from '../../../src/proxy/snapshot/snapshot-folder.ts';
import { assertStateFolder, prepareStateFolder } from '../../../src/proxy/snapshot/state-folder.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { type LogLine, recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const isRoot = process.geteuid?.() === 0;
const OTHER_USER = 12_345;
const SERVICES = 'protobuf /api/v1/services';
const change: Change = {
  type: 'ADDED',
  key: 'web',
  facts: { name: 'web', namespace: '', uid: 'web', resourceVersion: '8' },
  object: Buffer.from('web'),
};

let base: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'state-folder-'));
});

afterEach(() => rm(base, { recursive: true, force: true }));

function makeFifo(path: string): void {
  execFileSync('mkfifo', [path]);
}

describe('a stateDir that can never work is refused at the start with the reason', () => {
  // In /proc Node's recursive mkdir never ends: it used half a core without a log line.
  test.each([
    ['/proc/x/y', 'is on a proc file system'],
    ['/proc/self', 'is on a proc file system'],
    ['/sys/x', 'is on a sysfs file system'],
    ['/dev/x', 'is in /dev'],
  ])('%s', async (path, why) => {
    await expect(assertStateFolder(path)).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringMatching(new RegExp(`stateDir "${path}" ${why}.*leave stateDir out`)),
    });
  });

  test('a FIFO, a file, and a path below a file', async () => {
    const [fifo, file] = [join(base, 'fifo'), join(base, 'file')];
    makeFifo(fifo);
    await writeFile(file, '');
    await expect(assertStateFolder(fifo)).rejects.toThrow('is a FIFO, not a folder');
    await expect(assertStateFolder(file)).rejects.toThrow('is a file, not a folder');
    await expect(assertStateFolder(join(file, 'x'))).rejects.toThrow('is below a file');
  });

  test('a link into /proc', async () => {
    const link = join(base, 'link');
    await symlink('/proc/self', link);
    await expect(assertStateFolder(link)).rejects.toThrow('is on a proc file system');
  });

  (isRoot ? test : test.skip)('a link that another user made', async () => {
    const link = join(base, 'link');
    await symlink('/etc', link);
    execFileSync('chown', ['-h', String(OTHER_USER), link]);
    const { mode } = await stat('/etc');
    await expect(assertStateFolder(link)).rejects.toThrow(`is a link that user ${OTHER_USER} made`);
    expect((await stat('/etc')).mode).toBe(mode);
  });
});

describe('a stateDir that can work', () => {
  test('is made with its missing parents, and other users cannot enter it', async () => {
    const folder = join(base, 'a', 'b', 'c');
    expect(await prepareStateFolder(folder)).toBe(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test('may be a link of ours, which is resolved', async () => {
    await mkdir(join(base, 'disk'));
    await symlink(join(base, 'disk'), join(base, 'link'));
    expect(await prepareStateFolder(join(base, 'link'))).toBe(join(base, 'disk'));
  });

  test('but whose parent others can write is not used, and the start continues', async () => {
    await mkdir(join(base, 'shared'));
    await chmod(join(base, 'shared'), 0o777);
    const folder = join(base, 'shared', 'state');
    await expect(prepareStateFolder(folder)).rejects.toThrow('can be written by everybody');
    await assertStateFolder(folder);
  });

  (isRoot ? test : test.skip)('but belongs to another user is not used', async () => {
    const folder = join(base, 'state');
    await mkdir(folder);
    await chown(folder, OTHER_USER, OTHER_USER);
    await expect(prepareStateFolder(folder)).rejects.toThrow(`belongs to user ${OTHER_USER}`);
  });
});

describe('a file of the folder', () => {
  // Opening a FIFO to read waits for a writer, in one of the four threads that Node has for files and DNS.
  test('that is a FIFO, a folder or a link is not read, and does not block', async () => {
    const files = await SnapshotFiles.open(base);
    makeFifo(files.path('fifo'));
    await mkdir(files.path('folder'));
    await writeFile(join(base, 'elsewhere'), 'secret');
    await symlink(join(base, 'elsewhere'), files.path('link'));
    await expect(files.read('fifo', 100)).rejects.toThrow('not a regular file');
    await expect(files.read('folder', 100)).rejects.toThrow('not a regular file');
    await expect(files.read('link', 100)).rejects.toThrow('ELOOP');
    const { bytes } = await SnapshotFiles.open(base);
    expect(bytes).toBe(0);
  });
});

describe('the folder of the snapshots', () => {
  let lines: readonly LogLine[];
  let logger: SnapshotFolderOptions['logger'];

  beforeEach(() => {
    ({ logger, lines } = recordingLogger());
  });

  function folderOf(folder: string): SnapshotFolder {
    const credentials = new FakeCredentials(new URL('https://10.0.0.1:6443'));
    return new SnapshotFolder({
      ...{ folder, nodeName: 'edge-1', credentials, logger, graceMs: 10, maxBytes: 1 << 20 },
      ...{ writeBytesPerSecond: 1e12, quietMs: 5, unrestMs: 50, retryMs: 20 },
    });
  }

  async function snapshotsIn(folder: string): Promise<string[]> {
    const names = await readdir(folder).catch(() => []);
    return names.filter((name) => name.endsWith('.snapshot'));
  }

  test('that others can write is reported by the first read, and used when it can be', async () => {
    const shared = join(base, 'shared');
    await mkdir(shared);
    await chmod(shared, 0o777);
    const folder = join(shared, 'state');
    const snapshots = folderOf(folder);
    const writer = snapshots.open(SERVICES);
    expect(await snapshots.load(SERVICES)).toBeUndefined();
    expect(snapshots.problem).toMatch('can be written by everybody');
    writer.update([], '7');
    await eventually(() => snapshots.counters.failures > 3, true);
    await chmod(shared, 0o755);
    await eventually(() => snapshots.problem, undefined);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'a snapshot cannot be read (stateDir)',
      'all snapshots can be written again (stateDir)',
    ]);
    expect(await snapshotsIn(folder)).toHaveLength(1);
    await writer.close();
    await snapshots.close();
  });

  // Of the other queries one has not changed, and one comes from disk while the API server is away.
  test('that has gone is made with the next write of any query, and filled with the state of all', async () => {
    const folder = join(base, 'state');
    const snapshots = folderOf(folder);
    const [services, nodes] = [snapshots.open(SERVICES), snapshots.open('protobuf /api/v1/nodes')];
    const slices = snapshots.open('protobuf /apis/discovery.k8s.io/v1/endpointslices');
    services.update([], '7');
    nodes.update([], '7');
    slices.adopt([change], '7', 1);
    const all = [services, nodes, slices];
    await eventually(async () => (await snapshotsIn(folder)).length, all.length);
    await eventually(() => all.every(({ isOnDisk }) => isOnDisk), true);
    await rm(folder, { recursive: true });
    services.update([change], '8');
    await eventually(async () => (await snapshotsIn(folder)).length, all.length);
    const stored = await snapshots.load(slices.query);
    expect(stored).toMatchObject({ resourceVersion: '7', savedAt: 1 });
    expect(stored?.objects.map(String)).toEqual(['web']);
    const gone = lines.filter(({ msg }) => msg.includes('have gone'));
    expect(gone.at(-1)).toMatchObject({ files: 2 });
    for (const writer of all) await writer.close();
    await snapshots.close();
  });

  test('that has gone and cannot be made again is reported once, and filled when it can be', async () => {
    const parent = join(base, 'parent');
    const folder = join(parent, 'state');
    const snapshots = folderOf(folder);
    const writer = snapshots.open(SERVICES);
    writer.update([], '7');
    await eventually(() => writer.isOnDisk, true);
    await chmod(parent, 0o777);
    await rm(folder, { recursive: true });
    writer.update([change], '8');
    // Nobody makes a folder where others could plant snapshots.
    await eventually(() => snapshots.counters.failures > 3, true);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'a snapshot cannot be written, the one before is kept (stateDir)',
    ]);
    expect(snapshots.problem).toMatch('can be written by everybody');
    await chmod(parent, 0o755);
    await eventually(() => snapshots.problem, undefined);
    expect(await snapshotsIn(folder)).toHaveLength(1);
    await writer.close();
    await snapshots.close();
  });

  test('with a file that cannot be read reports it until the next state replaces the file', async () => {
    const snapshots = folderOf(base);
    const writer = snapshots.open(SERVICES);
    writer.update([], '7');
    await eventually(() => writer.isOnDisk, true);
    const [name = ''] = await snapshotsIn(base);
    await rm(join(base, name));
    makeFifo(join(base, name));
    expect(await snapshots.load(SERVICES)).toBeUndefined();
    expect(snapshots.problem).toBe('it is not a regular file');
    writer.update([change], '8');
    await eventually(() => snapshots.problem, undefined);
    expect((await snapshots.load(SERVICES))?.resourceVersion).toBe('8');
    await writer.close();
    await snapshots.close();
  });
});
