import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isOurs } from './state-folder.ts';

/** Not through a link, and without waiting for the writer of a FIFO. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads a file, or its first `wanted` bytes. Rejects with the error of the disk, and when the file has more than
 * `maxBytes`, is not a regular one, or is another user's.
 */
export async function readOwnFile(
  path: string,
  maxBytes: number,
  wanted = maxBytes,
): Promise<Buffer> {
  const file = await open(path, READ_ONLY);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (!isOurs(found)) throw new Error(`it belongs to user ${found.uid}`);
    if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes, more than ${maxBytes}`);
    const size = Math.min(found.size, wanted);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(size), 0, size);
    if (bytesRead < size) throw new Error(`only ${bytesRead} of its ${size} bytes can be read`);
    return buffer;
  } finally {
    await file.close();
  }
}

/**
 * Replaces a file: writes a new one beside it, forces it to the disk, and renames it. Readers see the old content or
 * the new one, never a part. Rejects with the error of the file system; then the file has its old content, unless only
 * the rename could not be forced to the disk.
 *
 * @param mtimeMs time of modification that the file gets, in milliseconds since the epoch
 */
export async function replaceFile(
  path: string,
  content: Iterable<Buffer>,
  mtimeMs: number,
): Promise<void> {
  // Not the process id: while one Pod replaces another, both may be process 1 and share this folder.
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    // `wx` does not follow a link that another user put there.
    await writeFile(temporary, content, { flag: 'wx', mode: 0o600, flush: true });
    await utimes(temporary, new Date(), new Date(mtimeMs));
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  // Without this, a power cut may bring the old content back.
  const folder = await open(dirname(path));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
