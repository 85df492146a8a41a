import { execFileSync } from 'node:child_process';
import { chown, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { readOwnFile } from '../../../src/client/snapshot/snapshot-file.ts';
import {
  assertStateFolder,
  prepareStateFolder,
} from '../../../src/client/snapshot/state-folder.ts';
import { useFolder } from '../../support/use-folder.ts';

const isRoot = process.geteuid?.() === 0;
const OTHER_USER = 12_345;

let base: string;

beforeEach(() => {
  base = useFolder();
});

function makeFifo(path: string): void {
  execFileSync('mkfifo', [path]);
}

describe('a stateDir that can never work is refused at the start with the reason', () => {
  test('a FIFO, a file, and a path that is not absolute', async () => {
    const [fifo, file] = [join(base, 'fifo'), join(base, 'file')];
    makeFifo(fifo);
    await writeFile(file, '');
    for (const [path, why] of [
      [fifo, 'is not a folder'],
      [file, 'is not a folder'],
      ['state', 'is not absolute'],
    ] as const) {
      await expect(assertStateFolder(path)).rejects.toMatchObject({
        code: 'InvalidSettings',
        message: expect.stringMatching(new RegExp(`stateDir "${path}" ${why}.*leave stateDir out`)),
      });
    }
  });

  (isRoot ? test : test.skip)('a link that another user made', async () => {
    // Not a folder of the machine: with a defect here it would get mode 0700.
    const [target, link] = [join(base, 'target'), join(base, 'link')];
    await mkdir(target);
    await symlink(target, link);
    execFileSync('chown', ['-h', String(OTHER_USER), link]);
    const { mode } = await stat(target);
    await expect(assertStateFolder(link)).rejects.toThrow(`is a link that user ${OTHER_USER} made`);
    expect((await stat(target)).mode).toBe(mode);
  });
});

describe('a stateDir that can work', () => {
  test('is made with mode 0700, or gets it, also behind a link of ours', async () => {
    const [missing, disk, link] = [join(base, 'a', 'b'), join(base, 'disk'), join(base, 'link')];
    await mkdir(disk);
    await symlink(disk, link);
    for (const path of [missing, link]) {
      await prepareStateFolder(path);
      expect((await stat(path)).mode & 0o777).toBe(0o700);
    }
  });

  // In /proc Node's recursive mkdir never ends: it used half a core without a log line.
  test.each(['/proc/x/y', '/proc/self', '/sys/x'])(
    'but where nothing can be made is not used, and the start continues: %s',
    async (path) => {
      await expect(prepareStateFolder(path)).rejects.toThrow(/^(ENOENT|EPERM|EACCES)/);
      await assertStateFolder(path);
    },
  );

  (isRoot ? test : test.skip)('but belongs to another user is not used', async () => {
    const folder = join(base, 'state');
    await mkdir(folder);
    await chown(folder, OTHER_USER, OTHER_USER);
    await expect(prepareStateFolder(folder)).rejects.toThrow(`belongs to user ${OTHER_USER}`);
    await assertStateFolder(folder);
  });
});

describe('a file of the folder', () => {
  // Opening a FIFO to read waits for a writer, in one of the four threads that Node has for files and DNS.
  test('that is a FIFO, a folder or a link is not read, and does not block', async () => {
    makeFifo(join(base, 'fifo'));
    await mkdir(join(base, 'folder'));
    await writeFile(join(base, 'elsewhere'), 'secret');
    await symlink(join(base, 'elsewhere'), join(base, 'link'));
    const read = (name: string) => readOwnFile(join(base, name), 100);
    await expect(read('fifo')).rejects.toThrow('not a regular file');
    await expect(read('folder')).rejects.toThrow('not a regular file');
    await expect(read('link')).rejects.toThrow('ELOOP');
    await expect(read('missing')).rejects.toThrow('ENOENT');
    await expect(readOwnFile(join(base, 'elsewhere'), 5)).rejects.toThrow('more than 5');
    expect(String(await readOwnFile(join(base, 'elsewhere'), 6))).toBe('secret');
  });

  // Somebody who may write above the folder can replace it.
  (isRoot ? test : test.skip)('that another user made is not read', async () => {
    const path = join(base, 'planted');
    await writeFile(path, 'planted');
    await chown(path, OTHER_USER, OTHER_USER);
    await expect(readOwnFile(path, 100)).rejects.toThrow(`it belongs to user ${OTHER_USER}`);
  });
});
