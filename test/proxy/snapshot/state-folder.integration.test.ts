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
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
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
    const files = new SnapshotFiles(base);
    makeFifo(files.path('fifo'));
    await mkdir(files.path('folder'));
    await writeFile(join(base, 'elsewhere'), 'secret');
    await symlink(join(base, 'elsewhere'), files.path('link'));
    await expect(files.read('fifo', 100)).rejects.toThrow('not a regular file');
    await expect(files.read('folder', 100)).rejects.toThrow('not a regular file');
    await expect(files.read('link', 100)).rejects.toThrow('ELOOP');
    expect([...(await files.ready()).keys()]).toEqual([]);
  });
});

describe('the folder of the snapshots', () => {
  let lines: readonly LogLine[];
  let logger: SnapshotFolderOptions['logger'];

  beforeEach(() => {
    ({ logger, lines } = recordingLogger());
  });

  function storeOf(folder: string, retryMs = 20): SnapshotFolder {
    const credentials = new FakeCredentials(new URL('https://10.0.0.1:6443'));
    return new SnapshotFolder({
      ...{ folder, nodeName: 'edge-1', credentials, logger, graceMs: 10, maxBytes: 1 << 20 },
      ...{ writeBytesPerSecond: 1e12, quietMs: 5, unrestMs: 50, retryMs },
    });
  }

  test('is checked before the first write, and again until it can be used', async () => {
    const shared = join(base, 'shared');
    await mkdir(shared);
    await chmod(shared, 0o777);
    const store = storeOf(join(shared, 'state'));
    await eventually(() => store.counters.failures > 2, true);
    expect(store.problem).toMatch('can be written by everybody');
    await chmod(shared, 0o755);
    await eventually(() => store.problem, undefined);
    await store.close();
    expect(lines.map(({ msg }) => msg.split(':')[0])).toEqual([
      'the folder of the snapshots cannot be used',
      'the folder of the snapshots can be used (stateDir)',
    ]);
    expect(await readdir(join(shared, 'state'))).toEqual([]);
  });

  test('is made and filled again when it has gone, without a change', async () => {
    const folder = join(base, 'state');
    const store = storeOf(folder);
    const writer = store.open('protobuf /api/v1/services');
    writer.update([], '7');
    await eventually(() => store.counters.writes, 1);
    // The first check must be over before the folder is removed.
    await eventually(
      async () => (await readdir(folder)).some((name) => name.endsWith('.tmp')),
      false,
    );
    const write = SnapshotFiles.prototype.write;
    const disk = Promise.withResolvers<void>();
    const held = jest.spyOn(SnapshotFiles.prototype, 'write').mockImplementation(async function (
      this: SnapshotFiles,
      ...args
    ) {
      await disk.promise;
      await write.apply(this, args);
    });
    await rm(folder, { recursive: true });
    await eventually(() => store.problem, 'the folder had gone, not all files are written again');
    expect(store.counters.failures).toBe(1);
    held.mockRestore();
    disk.resolve();
    await eventually(() => store.counters.writes > 1, true);
    await eventually(() => store.problem, undefined);
    expect(lines.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('has gone'));
    expect((await readdir(folder)).some((name) => name.endsWith('.snapshot'))).toBe(true);
    await writer.close();
    await store.close();
  });

  // Each check logged again that it had gone.
  test('that has gone and cannot be made again is reported once, and filled when it can be', async () => {
    const parent = join(base, 'parent');
    const folder = join(parent, 'state');
    const probe = jest.spyOn(SnapshotFiles.prototype, 'probe');
    const store = storeOf(folder);
    const writer = store.open('protobuf /api/v1/services');
    // From disk, while the API server is away: it would be lost as well.
    writer.adopt([], '7', 1);
    await eventually(() => probe.mock.results.length, 1);
    await probe.mock.results[0]?.value;
    await chmod(parent, 0o777);
    await rm(folder, { recursive: true });
    // Nobody makes a folder where others could plant snapshots.
    await eventually(() => store.counters.failures > 8, true);
    const count = (text: string) => lines.filter(({ msg }) => msg.includes(text)).length;
    // A check may come while the test removes the folder, and find another cause.
    expect([1, 2]).toContain(count('has gone'));
    expect([1, 2]).toContain(count('cannot be used'));
    expect(store.problem).toBeDefined();
    await chmod(parent, 0o755);
    await eventually(() => store.problem, undefined);
    expect((await readdir(folder)).some((name) => name.endsWith('.snapshot'))).toBe(true);
    await writer.close();
    await store.close();
    probe.mockRestore();
  });
});
