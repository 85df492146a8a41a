import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SnapshotFiles } from '../../../src/proxy/snapshot/snapshot-files.ts';
import { assertStateFolder, prepareStateFolder } from '../../../src/proxy/snapshot/state-folder.ts';

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
