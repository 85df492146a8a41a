import { randomUUID } from 'node:crypto';
import { chmod, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Why a file was set aside. */
export type SetAsideCause = 'torn' | 'foreign' | 'newer';

const SUFFIX = '.snapshot';
/** An unfinished file older than this has lost its writer, in milliseconds; a new process may run beside us. */
const ORPHAN_MS = 60_000;

/** A file in the folder. */
export interface SnapshotFile {
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

/**
 * The folder of the snapshots. A file is there as a whole or not at all: it is written beside, forced to the
 * disk, and then renamed.
 */
export class SnapshotFiles {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Makes the folder and removes what an interrupted writer left. Rejects when there can be no folder. */
  async prepare(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    // A folder that was given to us may belong to somebody else; the files are 0600 in any case.
    await chmod(this.folder, 0o700).catch(() => undefined);
    for (const name of await readdir(this.folder)) {
      if (!name.endsWith('.tmp')) continue;
      const path = join(this.folder, name);
      const found = await ifThere(stat(path));
      if (found && Date.now() - found.mtimeMs > ORPHAN_MS) await rm(path, { force: true });
    }
  }

  /** The finished files by name. */
  async list(): Promise<Map<string, SnapshotFile>> {
    const files = new Map<string, SnapshotFile>();
    for (const name of await readdir(this.folder)) {
      if (!name.endsWith(SUFFIX)) continue;
      const found = await ifThere(stat(join(this.folder, name)));
      if (found === undefined) continue;
      const { size: bytes, mtimeMs: modified } = found;
      files.set(name.slice(0, -SUFFIX.length), { bytes, modified });
    }
    return files;
  }

  path(name: string): string {
    return join(this.folder, name + SUFFIX);
  }

  /** Reads a file; undefined when there is none. Rejects with what the disk says, or when it is too large. */
  async read(name: string, maxBytes: number): Promise<Buffer | undefined> {
    const handle = await ifThere(open(this.path(name), 'r'));
    if (handle === undefined) return undefined;
    try {
      const { size } = await handle.stat();
      if (size > maxBytes) throw new Error(`it has ${size} bytes, more than ${maxBytes}`);
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  }

  /** Writes a file in pieces, replacing the one before. Rejects, and leaves that one, when the disk fails. */
  async write(name: string, pieces: Iterable<Buffer>): Promise<void> {
    const path = this.path(name);
    // Not the process id: while one Pod replaces another, both may be number 1, with this folder between them.
    const temporary = `${path}.${randomUUID()}.tmp`;
    const handle = await open(temporary, 'wx', 0o600);
    try {
      try {
        for (const piece of pieces) await writeAll(handle, piece);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
    await this.#syncFolder();
  }

  async remove(name: string): Promise<void> {
    await rm(this.path(name), { force: true });
  }

  /** Renames a file that is not to be trusted; one per cause is kept, the latest. Returns its new path. */
  async setAside(name: string, cause: SetAsideCause): Promise<string> {
    const path = join(this.folder, `${name}.${cause}`);
    for (const other of await readdir(this.folder)) {
      if (other.endsWith(`.${cause}`)) await rm(join(this.folder, other), { force: true });
    }
    await rename(this.path(name), path);
    return path;
  }

  /** Until the folder is on the disk too, a power cut may bring the old name back. */
  async #syncFolder(): Promise<void> {
    const handle = await open(this.folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** Undefined when there is no such file any more: the process that replaces this one has the folder too. */
async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A write may take less than it was given, on a disk that is nearly full. */
async function writeAll(handle: FileHandle, piece: Buffer): Promise<void> {
  let offset = 0;
  while (offset < piece.length) {
    const { bytesWritten } = await handle.write(piece, offset);
    offset += bytesWritten;
  }
}
