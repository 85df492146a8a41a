import { type FileHandle, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WrapperError } from '../../errors.ts';
import { replaceFile } from './replace-file.ts';
import { decodeHeader, SNAPSHOT_HEAD_BYTES, type SnapshotHeader } from './snapshot-format.ts';
import { ifExists, prepareStateFolder, READ_ONLY } from './state-folder.ts';

/** Why a file was set aside. */
export type SetAsideCause = 'torn' | 'foreign' | 'newer';

const SUFFIX = '.snapshot';
/** Files that need not be kept are removed above this number. */
const MAX_FILES = 256;
/** An unfinished file older than this has lost its writer, in milliseconds. A younger one may be another process's. */
const ORPHAN_MS = 60_000;

/** A file in the folder. */
interface SnapshotFile {
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

/**
 * The snapshots in a folder, as they were when it was opened. A file is whole or absent: it is written under another
 * name, forced to the disk, and then renamed.
 */
export class SnapshotFiles {
  /** Where the files are, without links. */
  readonly folder: string;
  /** The finished files by name. */
  readonly #found: Map<string, SnapshotFile>;

  private constructor(folder: string, found: Map<string, SnapshotFile>) {
    this.folder = folder;
    this.#found = found;
  }

  /**
   * Makes the folder if it is missing, removes what an interrupted writer left, and lists the files. Rejects as
   * {@link prepareStateFolder}.
   */
  static async open(setting: string): Promise<SnapshotFiles> {
    const folder = await prepareStateFolder(setting);
    const found = new Map<string, SnapshotFile>();
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const file = await ifExists(lstat(path));
      if (file === undefined) continue;
      const { size: bytes, mtimeMs: modified } = file;
      if (name.endsWith('.tmp')) {
        if (Date.now() - modified > ORPHAN_MS) await rm(path, { force: true });
      } else if (name.endsWith(SUFFIX) && file.isFile()) {
        found.set(name.slice(0, -SUFFIX.length), { bytes, modified });
      }
    }
    return new SnapshotFiles(folder, found);
  }

  /** Bytes of all finished files. */
  get bytes(): number {
    return [...this.#found.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  has(name: string): boolean {
    return this.#found.has(name);
  }

  path(name: string): string {
    return join(this.folder, name + SUFFIX);
  }

  /** Reads a file; undefined when it does not exist. Rejects with the error of the disk, or when it is too large. */
  read(name: string, maxBytes: number): Promise<Buffer | undefined> {
    return this.#withFile(name, async (file) => {
      const found = await file.stat();
      if (!found.isFile()) throw new Error('it is not a regular file');
      const { size } = found;
      if (size > maxBytes) throw new Error(`it has ${size} bytes, more than ${maxBytes}`);
      return await readBytes(file, size);
    });
  }

  /** The header of a file; undefined if there is none that can be trusted. */
  header(name: string): Promise<SnapshotHeader | undefined> {
    return this.#withFile(name, async (file) =>
      decodeHeader(await readBytes(file, SNAPSHOT_HEAD_BYTES)),
    );
  }

  /** Removes files that need not be kept, the oldest first, until one more has room. Throws `TooLarge`. */
  async makeRoom(
    name: string,
    bytes: number,
    { maxBytes, keep }: { readonly maxBytes: number; readonly keep: ReadonlySet<string> },
  ): Promise<void> {
    const unused = [...this.#found]
      .filter(([other]) => other !== name && !keep.has(other))
      .sort(([, a], [, b]) => a.modified - b.modified);
    let total = this.bytes - (this.#found.get(name)?.bytes ?? 0) + bytes;
    for (const [other, file] of unused) {
      if (total <= maxBytes && this.#found.size <= MAX_FILES) break;
      await rm(this.path(other), { force: true });
      this.#found.delete(other);
      total -= file.bytes;
    }
    if (total <= maxBytes) return;
    const problem = `the snapshots would take ${total} bytes, more than stateMaxBytes=${maxBytes}`;
    throw new WrapperError('TooLarge', problem);
  }

  /** Writes a file in chunks and replaces the one before. Rejects, and keeps that one, when the disk fails. */
  async write(name: string, buffers: Iterable<Buffer>): Promise<void> {
    const bytes = await replaceFile(this.path(name), 0o600, buffers);
    await this.#syncFolder();
    this.#found.set(name, { bytes, modified: Date.now() });
  }

  /** Renames a file that is not trusted and keeps only the latest of each cause. Returns its new path. */
  async setAside(name: string, cause: SetAsideCause): Promise<string> {
    const path = join(this.folder, `${name}.${cause}`);
    for (const other of await readdir(this.folder)) {
      if (other.endsWith(`.${cause}`)) await rm(join(this.folder, other), { force: true });
    }
    await rename(this.path(name), path);
    this.#found.delete(name);
    return path;
  }

  /** Undefined when the file does not exist. */
  async #withFile<T>(name: string, use: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
    const file = await ifExists(open(this.path(name), READ_ONLY));
    if (file === undefined) return undefined;
    try {
      return await use(file);
    } finally {
      await file.close();
    }
  }

  /** Without this, a power cut may bring the old name back. */
  async #syncFolder(): Promise<void> {
    const handle = await open(this.folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** Reads at most `size` bytes: a file that grows while it is read has no end. */
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
