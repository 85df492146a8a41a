import { constants, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { dirname, parse, resolve } from 'node:path';
import { WrapperError } from '../../errors.ts';
import { withTimeout } from '../../util/with-timeout.ts';

/** File systems that cannot hold our files, by f_type of statfs(2); see linux/magic.h. */
const PSEUDO_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x73636673, 'securityfs'],
  [0x6165676c, 'pstore'],
  [0xcafe4a11, 'bpf'],
  [0x1cd1, 'devpts'],
  [0x19800202, 'mqueue'],
  [0x958458f6, 'hugetlbfs'],
]);

const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_OTHERS = 0o002;
const STICKY = 0o1000;

/**
 * Resolves the folder of the setting to its real path, and makes it when it is missing. A link that we or root made is
 * followed once: if it changes later, the real path does not.
 *
 * Rejects with `InvalidSettings` when the setting can never work: the path is not a folder, is a link of another user,
 * or is on a file system that holds no files. Rejects with the error of the disk, which may be temporary.
 */
export async function prepareStateFolder(setting: string): Promise<string> {
  const wanted = resolve(setting);
  const found = await ifExists(lstat(wanted)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTDIR') throw error;
    throw invalid(setting, 'is below a file (ENOTDIR)', 'name a folder, or one to be made');
  });
  if (found?.isSymbolicLink() === true && !isTrusted(found.uid)) {
    throw invalid(setting, `is a link that user ${found.uid} made`, 'name the folder itself');
  }
  await assertHoldsFiles(setting, wanted);
  const target = found === undefined ? wanted : await realpath(wanted);
  if (found === undefined) await makeFolders(target);
  const folder = await stat(target);
  if (!folder.isDirectory()) {
    throw invalid(
      setting,
      `is ${kindOf(folder)}, not a folder`,
      'name a folder, or one to be made',
    );
  }
  // The folder may belong to another user; the files are 0600 in any case.
  await chmod(target, 0o700).catch(() => undefined);
  const real = await realpath(target);
  await assertOnlyOurs(real);
  return real;
}

/** How long the start waits for the disk, in milliseconds. */
const START_MS = 2_000;

/**
 * Rejects with `InvalidSettings` when {@link prepareStateFolder} does. A disk that is full, read-only or slow does not
 * prevent the start: SnapshotFolder reports it and tries again.
 */
export async function assertStateFolder(setting: string): Promise<void> {
  try {
    await withTimeout(START_MS, prepareStateFolder(setting));
  } catch (error) {
    if (error instanceof WrapperError) throw error;
  }
}

/** Flags to open a file for reading: not through a link, and without waiting for the writer of a FIFO. */
export const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Checks the nearest folder that exists. The check precedes mkdir, because Node's recursive mkdir never ends in
 * /proc.
 */
async function assertHoldsFiles(setting: string, path: string): Promise<void> {
  const nearest = await nearestExisting(path);
  const { type } = await statfs(nearest);
  const name = PSEUDO_FILE_SYSTEMS.get(type);
  const real = await realpath(nearest);
  // devtmpfs has the type of tmpfs, but /dev/shm is a real tmpfs.
  const inDev = (real === '/dev' || real.startsWith('/dev/')) && !real.startsWith('/dev/shm/');
  if (name === undefined && !inDev) return;
  const where = name === undefined ? 'is in /dev' : `is on a ${name} file system`;
  throw invalid(setting, `${where}, which holds no files`, 'name a folder on a disk');
}

async function nearestExisting(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if ((await ifExists(stat(at))) !== undefined || at === parse(at).root) return at;
  }
}

/** Makes the missing folders one by one. */
async function makeFolders(path: string): Promise<void> {
  const parent = dirname(path);
  if ((await ifExists(stat(parent))) === undefined) await makeFolders(parent);
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    // The process that this one replaces has made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Rejects if others could write a snapshot: it decides what this node shows while the API server is unreachable. */
async function assertOnlyOurs(folder: string): Promise<void> {
  const own = await lstat(folder);
  const problem = isTrusted(own.uid) ? writersOf(own, 0) : `belongs to user ${own.uid}`;
  if (problem !== undefined) throw untrusted(folder, problem);
  for (let at = folder; at !== parse(at).root; ) {
    at = dirname(at);
    const above = await lstat(at);
    if (!isTrusted(above.uid)) throw untrusted(at, `belongs to user ${above.uid}`);
    const writers = writersOf(above, STICKY);
    if (writers !== undefined) throw untrusted(at, writers);
  }
}

/** @param sticky flag that makes writers harmless: they cannot rename what is ours */
function writersOf({ mode, gid }: Stats, sticky: number): string | undefined {
  if ((mode & sticky) !== 0) return undefined;
  if ((mode & WRITABLE_BY_OTHERS) !== 0) return 'can be written by everybody';
  // A volume from Kubernetes is writable by our group (fsGroup).
  const ours = gid === 0 || gid === process.getegid?.() || process.getgroups?.().includes(gid);
  if ((mode & WRITABLE_BY_GROUP) !== 0 && ours !== true) return `can be written by group ${gid}`;
  return undefined;
}

function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

function untrusted(path: string, problem: string): Error {
  return new Error(
    `${path} ${problem}, who could plant snapshots: make it the wrapper's own (mode 0700), or set another stateDir`,
  );
}

function invalid(setting: string, problem: string, wayOut: string): WrapperError {
  const message = `stateDir ${JSON.stringify(setting)} ${problem}: ${wayOut}, or leave stateDir out`;
  return new WrapperError('InvalidSettings', message);
}

function kindOf(found: Stats): string {
  if (found.isFIFO()) return 'a FIFO';
  if (found.isSocket()) return 'a socket';
  if (found.isFile()) return 'a file';
  return 'a device';
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
