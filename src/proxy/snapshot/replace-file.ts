import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/**
 * Replaces a file: writes a new one beside it, forces it to the disk, and renames it. Readers see the old content or
 * the new one, never a part. Resolves with the size in bytes. Rejects with the error of the file system; then the old
 * file is unchanged.
 *
 * @param mode permissions of the new file; the umask does not remove any of them
 */
export async function replaceFile(
  path: string,
  mode: number,
  content: Iterable<Buffer>,
): Promise<number> {
  // Not the process id: while one Pod replaces another, both may be process 1 and share this folder.
  const temporary = `${path}.${randomUUID()}.tmp`;
  // `wx` does not follow a link that another user put there.
  const file = await open(temporary, 'wx', mode);
  try {
    let size = 0;
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      await file.sync();
      ({ size } = await file.stat());
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    return size;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
