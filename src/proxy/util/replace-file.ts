import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';

/**
 * Replaces a file: writes a new one beside it, forces it to the disk, and renames it. Readers see the old content or
 * the new one, never a part. Rejects with the error of the file system; then the old file is unchanged.
 *
 * @param mode permissions of the new file; the umask does not remove any of them
 * @param write writes the content
 */
export async function replaceFile(
  path: string,
  mode: number,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  // Not the process id: while one Pod replaces another, both may be process 1 and share this folder.
  const temporary = `${path}.${randomUUID()}.tmp`;
  // `wx` does not follow a link that another user put there.
  const file = await open(temporary, 'wx', mode);
  try {
    try {
      await write(file);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
