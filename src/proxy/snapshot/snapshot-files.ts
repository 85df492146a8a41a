import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { folderId, ifThere, prepareStateFolder, READ_ONLY } from './state-folder.ts';

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
  readonly #setting: string;
  #folder: string;

  constructor(setting: string) {
    this.#setting = setting;
    this.#folder = setting;
  }

  /** Where the files are; links are resolved once it is prepared. */
  get folder(): string {
    return this.#folder;
  }

  /** Makes the folder and removes what an interrupted writer left. Rejects as {@link prepareStateFolder}. */
  async prepare(): Promise<void> {
    this.#folder = await prepareStateFolder(this.#setting);
    for (const name of await readdir(this.folder)) {
      if (!name.endsWith('.tmp')) continue;
      const path = join(this.folder, name);
      const found = await ifThere(lstat(path));
      if (found && Date.now() - found.mtimeMs > ORPHAN_MS) await rm(path, { force: true });
    }
  }

  /** The finished files by name. */
  async list(): Promise<Map<string, SnapshotFile>> {
    const files = new Map<string, SnapshotFile>();
    for (const name of await readdir(this.folder)) {
      if (!name.endsWith(SUFFIX)) continue;
      const found = await ifThere(lstat(join(this.folder, name)));
      if (found?.isFile() !== true) continue;
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
    const handle = await ifThere(open(this.path(name), READ_ONLY));
    if (handle === undefined) return undefined;
    try {
      const found = await handle.stat();
      if (!found.isFile()) throw new Error('it is not a regular file');
      const { size } = found;
      if (size > maxBytes) throw new Error(`it has ${size} bytes, more than ${maxBytes}`);
      return await readBytes(handle, size);
    } finally {
      await handle.close();
    }
  }

  /** Writes a file in pieces, replacing the one before. Rejects, and leaves that one, when the disk fails. */
  async write(name: string, buffers: Iterable<Buffer>): Promise<void> {
    const path = this.path(name);
    // Not the process id: while one Pod replaces another, both may be number 1, with this folder between them.
    const temporary = `${path}.${randomUUID()}.tmp`;
    const handle = await open(temporary, 'wx', 0o600);
    try {
      try {
        for (const piece of buffers) await writeAll(handle, piece);
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

  /** Which folder it is: another one may take its place, or none. */
  id(): Promise<string> {
    return folderId(this.folder);
  }

  /** Writes, forces to the disk, renames and removes a file: rejects when the folder takes none. */
  async probe(): Promise<void> {
    const path = join(this.folder, `probe.${randomUUID()}.tmp`);
    const renamed = `${path}.tmp`;
    try {
      const handle = await open(path, 'wx', 0o600);
      try {
        await writeAll(handle, Buffer.from('probe'));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(path, renamed);
    } finally {
      for (const each of [path, renamed]) await rm(each, { force: true }).catch(() => undefined);
    }
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

/** So many bytes and no more: a file that grows while it is read has no end. */
async function readBytes(handle: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  let offset = 0;
  while (offset < size) {
    const { bytesRead } = await handle.read(bytes, offset, size - offset);
    if (bytesRead === 0) break;
    offset += bytesRead;
  }
  return bytes.subarray(0, offset);
}

/** A write may take less than it was given, on a disk that is nearly full. */
async function writeAll(handle: FileHandle, piece: Buffer): Promise<void> {
  let offset = 0;
  while (offset < piece.length) {
    const { bytesWritten } = await handle.write(piece, offset);
    offset += bytesWritten;
  }
}
