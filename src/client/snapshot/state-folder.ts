import { chmod, lstat, mkdir, stat } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import { WrapperError } from '../../errors.ts';
import { withTimeout } from '../../util/with-timeout.ts';

/** How long the start waits for the disk, in milliseconds. */
const START_MS = 2_000;

/**
 * Makes a folder with mode 0700 if it is missing, and checks it: who can write there decides what this node shows while
 * the API server is unreachable.
 *
 * Rejects with `InvalidSettings` when the setting can never work: the path is not absolute, is not a folder, or is a
 * link of another user. Rejects with another error if the folder belongs to another user, or the disk fails, which may
 * be temporary.
 */
export async function prepareStateFolder(path: string): Promise<void> {
  if (!isAbsolute(path)) throw invalidFolder(path, 'is not absolute');
  const found = await ifExists(lstat(path));
  if (found === undefined) await makeFolder(path);
  else if (found.isSymbolicLink() && found.uid !== 0 && !isOurs(found)) {
    throw invalidFolder(path, `is a link that user ${found.uid} made`);
  }
  const folder = await stat(path);
  if (!folder.isDirectory()) throw invalidFolder(path, 'is not a folder');
  if (!isOurs(folder)) {
    const problem = `${path} belongs to user ${folder.uid}, who could plant snapshots`;
    throw new Error(`${problem}: make it the wrapper's own, or set another stateDir`);
  }
  if ((folder.mode & 0o777) !== 0o700) await chmod(path, 0o700);
}

/**
 * Rejects with `InvalidSettings` when {@link prepareStateFolder} does. A disk that is full, read-only or slow does not
 * prevent the start: SnapshotFolder reports it and tries again.
 */
export async function assertStateFolder(path: string): Promise<void> {
  try {
    await withTimeout(START_MS, prepareStateFolder(path));
  } catch (error) {
    if (error instanceof WrapperError) throw error;
  }
}

/** Whether a file belongs to the user of this process. */
export function isOurs({ uid }: { readonly uid: number }): boolean {
  return uid === process.geteuid?.();
}

/** Undefined if the file does not exist. The process that replaces this one may remove files of the folder. */
export async function ifExists<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes the missing folders one by one: Node's recursive mkdir never ends in /proc. */
async function makeFolder(path: string): Promise<void> {
  const parent = dirname(path);
  if ((await ifExists(stat(parent))) === undefined) await makeFolder(parent);
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    // The process that this one replaces has made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function invalidFolder(path: string, problem: string): WrapperError {
  const message = `stateDir ${JSON.stringify(path)} ${problem}: name a folder, or one to be made, or leave stateDir out`;
  return new WrapperError('InvalidSettings', message);
}
