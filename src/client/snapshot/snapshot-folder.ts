import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { messageOf } from '../../util/message-of.ts';
import { SingleFlight } from '../../util/single-flight.ts';
import { withTimeout } from '../../util/with-timeout.ts';
import type { ServerAccess } from '../credentials/credentials.ts';
import { readBootId } from '../system/boot-id.ts';
import type { QueryState } from './query-state.ts';
import { readOwnFile, replaceFile } from './snapshot-file.ts';
import {
  decodeHeader,
  decodeSnapshot,
  encodeSnapshot,
  MAX_HEADER_BYTES,
  type SnapshotHeader,
  type StoredState,
  snapshotBytes,
  Untrusted,
} from './snapshot-format.ts';
import { assertOurs, ownerOf, type SnapshotOwner } from './snapshot-owner.ts';
import { SnapshotWriter, type SnapshotWriterOptions } from './snapshot-writer.ts';
import { ifExists, prepareStateFolder } from './state-folder.ts';

export interface SnapshotFolderOptions extends Omit<SnapshotWriterOptions, 'save'> {
  /** Absolute path of the folder of the snapshots, used for nothing else; made when it is missing. */
  readonly folder: string;
  readonly nodeName: string;
  /** Identify the cluster that a snapshot is from. */
  readonly serverAccess: ServerAccess;
  /** All snapshots together take no more than this on disk. */
  readonly maxBytes: number;
  /** How long the API server may be unreachable at the start before a snapshot is used, in milliseconds. */
  readonly graceMs: number;
  /** A write that takes longer than this is reported as a failure, in milliseconds; default 30,000. */
  readonly slowMs?: number;
  /**
   * Makes the process that this one replaces write its newest state. Resolves when it has and shows nothing newer, or
   * when there is none. Never rejects. Default: there is none.
   */
  readonly flushLastProcess?: () => Promise<void>;
  /** Differs after each boot of the machine; empty: unknown. Default: what the kernel says. */
  readonly bootId?: string;
  readonly logger: Logger;
}

/** A file in the folder: its size in bytes, and when its state was reported, in milliseconds since the epoch. */
type SnapshotFile = Pick<Stats, 'size' | 'mtimeMs'>;

const SUFFIX = '.snapshot';
const SET_ASIDE = 'set-aside.';
/** Files that need not be kept are removed above this number. */
const MAX_FILES = 256;
/** An unfinished file older than this has lost its writer, in milliseconds. A younger one may be another process's. */
const ORPHAN_MS = 60_000;
/** How long a disk that hangs delays the end of the process, in milliseconds. */
const FOLDER_CLOSE_MS = 5_000;
/** A disk is slow if a read takes longer, together with those before it, in milliseconds. */
export const LOAD_MS = 2_000;

const WAY_OUT: Readonly<Record<Untrusted['kind'], string>> = {
  torn: 'it is kept to be looked at and can be deleted; the next one is written from the live state',
  foreign: 'delete it, or set stateDir to the folder of this node and cluster',
  newer: 'start the newer program again, or delete it',
};

const CANNOT_READ = 'a snapshot cannot be read (stateDir)';
const CANNOT_WRITE = 'a snapshot cannot be written, the one before is kept (stateDir)';

/**
 * The room snapshot: the last state of each query on disk. It must not decide what a client sees: it hands a state to
 * the reflector, and only while it has no list of an API server.
 *
 * There is one file per query. So a heartbeat of the own Node does not rewrite 15 MB of slices, and a
 * torn file costs one query only.
 *
 *     reflector ─▶ SnapshotRestore ─▶ QueryState ─▶ SnapshotWriter: when ─▶ SnapshotFolder: one at a time ─▶ disk
 *
 * Invariant: a file holds one state of the API server, byte for byte, at one version, for one query of this node and
 * cluster. Any other file is set aside.
 *
 * The folder is made and checked before the first read and before each write, so a folder that has gone is made again.
 * Nothing depends on the disk: its failures are logged and counted, and the program continues without it.
 */
export class SnapshotFolder {
  /** For metrics. */
  readonly counters = { writes: 0, failures: 0, setAside: { torn: 0, foreign: 0, newer: 0 } };
  readonly graceMs: number;
  readonly writer: SnapshotWriter;
  readonly #options: SnapshotFolderOptions;
  readonly #bootId: string;
  readonly #flushing = new SingleFlight<void>();
  /** Of these the disk has told what it has, or that it has nothing. */
  readonly #wasRead = new WeakSet<QueryState>();
  /** The files when they were last listed; undefined: the folder could not be used yet. */
  #files: Map<string, SnapshotFile> | undefined;
  /** Owner in the file that was written last. */
  #owner = '';

  constructor(options: SnapshotFolderOptions) {
    this.#options = options;
    this.#bootId = options.bootId ?? readBootId();
    this.graceMs = options.graceMs;
    this.writer = new SnapshotWriter({ ...options, save: (state) => this.#save(state) });
  }

  /** Why some of the state is not on disk; undefined: all of it is. */
  get problem(): string | undefined {
    return this.#errors[0]?.message;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#files === undefined ? 0 : sizeOf(this.#files);
  }

  /** The state of a query on disk; undefined if there is none that can be trusted in time. Never rejects. */
  async load(state: QueryState): Promise<StoredState | undefined> {
    const stored = this.#readInTurn(state);
    const read = (): void => void this.#wasRead.add(state);
    stored.then(read, read);
    return await this.#unlessFailed(withTimeout(LOAD_MS, stored), state);
  }

  /** Whether the disk has been read for a query; false: it is slow. */
  wasRead(state: QueryState): boolean {
    return this.#wasRead.has(state);
  }

  /** The same, however long the disk takes. `onSlow` is called if it is slow. Never rejects. */
  async loadPatiently(state: QueryState, onSlow: () => void): Promise<StoredState | undefined> {
    const timer = setTimeout(onSlow, LOAD_MS).unref();
    const stored = await this.#unlessFailed(this.#readInTurn(state), state);
    clearTimeout(timer);
    return stored;
  }

  /** The same, after the process that this one replaces has written its newest state. Never rejects. */
  async loadNewest(state: QueryState, onSlow: () => void): Promise<StoredState | undefined> {
    const { flushLastProcess } = this.#options;
    // One request for all queries that are read together.
    if (flushLastProcess !== undefined) await this.#flushing.run(flushLastProcess);
    return await this.loadPatiently(state, onSlow);
  }

  async #readInTurn({ query }: QueryState): Promise<StoredState | undefined> {
    return await this.writer.inTurn(() => this.#read(query));
  }

  async #unlessFailed(
    stored: Promise<StoredState | undefined>,
    state: QueryState,
  ): Promise<StoredState | undefined> {
    try {
      return await stored;
    } catch (error) {
      this.#failed(CANNOT_READ, state, error as Error);
      return undefined;
    }
  }

  /** Writes all that is not on disk, for the process that replaces this one. Never rejects. */
  async flush(): Promise<void> {
    await this.#untilDisk(this.writer.flush());
  }

  /** Writes all that is not on disk, and nothing after that. Never rejects. */
  async close(): Promise<void> {
    await this.#untilDisk(this.writer.close());
  }

  /** Waits for the disk, but not for one that hangs. */
  async #untilDisk(written: Promise<void>): Promise<void> {
    try {
      await withTimeout(FOLDER_CLOSE_MS, written);
    } catch (error) {
      const { folder, logger } = this.#options;
      const text =
        'what is not on disk yet is not waited for, the snapshots before are kept (stateDir)';
      logger.error({ folder, err: messageOf(error) }, text);
    }
  }

  /** Makes the folder if it is missing, checks it, removes what an interrupted writer left, and lists the files. */
  async #open(): Promise<Map<string, SnapshotFile>> {
    const { folder } = this.#options;
    await prepareStateFolder(folder);
    const files = new Map<string, SnapshotFile>();
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const file = await ifExists(lstat(path));
      if (file === undefined) continue;
      // Its time of modification says when its state was written.
      const isOrphan = name.endsWith('.tmp') && Date.now() - file.ctimeMs > ORPHAN_MS;
      // On a disk that has become read-only it stays, and the snapshots can be read.
      if (isOrphan) await rm(path, { force: true }).catch(() => undefined);
      else if (isCounted(name) && file.isFile()) files.set(name, file);
    }
    this.#files = files;
    return files;
  }

  async #read(query: string): Promise<StoredState | undefined> {
    if (this.#files === undefined) await this.#open();
    const file = await ifExists(readOwnFile(this.#path(query), this.#options.maxBytes));
    if (file === undefined) return undefined;
    try {
      const { header, objects } = decodeSnapshot(file);
      assertOurs(header, query, this.#currentOwner());
      return { ...header, reportedAt: this.#reportedAt(header), objects };
    } catch (error) {
      await this.setAside(query, error as Error);
      return undefined;
    }
  }

  /** Renames a file that cannot be trusted, so that the latest of each cause is kept, and logs why. Never rejects. */
  async setAside(query: string, error: Error): Promise<void> {
    const { folder, logger } = this.#options;
    const cause = error instanceof Untrusted ? error.kind : 'torn';
    const problem = error.message;
    const file = join(folder, `${SET_ASIDE}${cause}`);
    this.counters.setAside[cause]++;
    try {
      await rename(this.#path(query), file);
      const fields = { file, query, cause, problem };
      logger.error(fields, `a snapshot was set aside: ${WAY_OUT[cause]}`);
    } catch (error) {
      const fields = { file: this.#path(query), cause, problem, err: messageOf(error) };
      logger.error(fields, 'a snapshot is not trusted; delete it');
    }
  }

  /** Returns the bytes that were written; undefined if the write failed, which has been logged. */
  async #save(state: QueryState): Promise<number | undefined> {
    const { slowMs = 30_000 } = this.#options;
    const writing = this.#write(state);
    try {
      await withTimeout(slowMs, writing);
    } catch (error) {
      this.#failed(CANNOT_WRITE, state, error as Error);
    }
    // A slow write goes on, because nothing can end it.
    const bytes = await writing.catch(() => undefined);
    if (bytes === undefined) return undefined;
    if (bytes > 0) this.counters.writes++;
    this.#written(state);
    return bytes;
  }

  /**
   * Writes nothing, and returns 0, if the file has a state that was reported later, to another process, or to the next
   * reflector of the same query.
   */
  async #write(state: QueryState): Promise<number> {
    const { query } = state;
    const files = await this.#open();
    const owner = this.#currentOwner();
    this.#rewriteOutdated(files, owner);
    const taken = state.take();
    const { resourceVersion, savedAt, reportedAt = 0, objects } = taken;
    const name = fileName(query);
    const header = {
      ...owner,
      question: query,
      resourceVersion,
      savedAt,
      reported: this.#bootId === '' ? undefined : { boot: this.#bootId, at: reportedAt },
      objects: objects.length,
      bytes: objects.reduce((sum, { length }) => sum + length, 0),
    };
    if (await this.#hasLater(query, taken)) return 0;
    const bytes = snapshotBytes(header);
    await this.#makeRoom(files, name, bytes);
    await replaceFile(this.#path(query), encodeSnapshot(header, objects), savedAt);
    files.set(name, { size: bytes, mtimeMs: savedAt });
    return bytes;
  }

  /** Whether the file of a query has a state that was reported later. */
  async #hasLater(query: string, { savedAt, reportedAt = 0 }: StoredState): Promise<boolean> {
    const header = await this.#readHeader(query);
    if (header === undefined) return false;
    if (header.reported !== undefined && this.#bootId !== '') {
      return this.#reportedAt(header) > reportedAt;
    }
    // A process of 1.2.0 has written it. A time in the future is from a clock that was wrong. Such a file would never
    // be replaced.
    return header.savedAt > savedAt && header.savedAt <= Date.now();
  }

  /** Undefined: there is none that can be read. A state replaces such a file. */
  async #readHeader(query: string): Promise<SnapshotHeader | undefined> {
    try {
      const { maxBytes } = this.#options;
      return decodeHeader(await readOwnFile(this.#path(query), maxBytes, MAX_HEADER_BYTES)).header;
    } catch {
      return undefined;
    }
  }

  /** When the state of a file was reported in this boot; 0: before. See {@link StoredState}. */
  #reportedAt({ reported }: SnapshotHeader): number {
    return reported?.boot === this.#bootId ? reported.at : 0;
  }

  /** Removes files of no open query, the oldest first, until one more has room. Throws `TooLarge`. */
  async #makeRoom(files: Map<string, SnapshotFile>, name: string, bytes: number): Promise<void> {
    const { folder, maxBytes } = this.#options;
    const used = new Set(Array.from(this.writer.states, ({ query }) => fileName(query))).add(name);
    const byAge = [...files].sort(([, a], [, b]) => a.mtimeMs - b.mtimeMs);
    let total = sizeOf(files) - (files.get(name)?.size ?? 0) + bytes;
    for (const [other, { size }] of byAge) {
      if (used.has(other)) continue;
      if (total <= maxBytes && files.size <= MAX_FILES) break;
      await rm(join(folder, other), { force: true });
      files.delete(other);
      total -= size;
    }
    if (total <= maxBytes) return;
    const message = `the snapshots would take ${total} bytes, more than stateMaxBytes=${maxBytes}`;
    throw new WrapperError('TooLarge', message);
  }

  /**
   * Lets files be written again that have gone from the folder. All of them after a rotation: they name the servers and
   * authorities of their time, and after the next one no process would trust them.
   */
  #rewriteOutdated(files: ReadonlyMap<string, SnapshotFile>, currentOwner: SnapshotOwner): void {
    const owner = JSON.stringify(currentOwner);
    for (const state of this.writer.states) {
      const isCurrent = owner === this.#owner && files.has(fileName(state.query));
      if (state.isOnDisk && !isCurrent) state.rewrite();
    }
    this.#owner = owner;
  }

  /** Of the open queries: no later write would resolve the error of a closed one. */
  get #errors(): NodeJS.ErrnoException[] {
    const errors = Array.from(this.writer.states, ({ error }) => error);
    return errors.filter((error) => error !== undefined);
  }

  /** Logs each cause once, until all open queries can be written again. */
  #failed(text: string, state: QueryState, error: Error): void {
    const cause = codeOrMessage(error);
    const isLogged = this.#errors.some((known) => codeOrMessage(known) === cause);
    this.counters.failures++;
    state.error = error;
    if (isLogged) return;
    const { folder, logger } = this.#options;
    logger.error({ folder, query: state.query, err: error.message }, text);
  }

  #written(state: QueryState): void {
    const had = state.error !== undefined;
    state.error = undefined;
    if (!had || this.#errors.length > 0) return;
    const { folder, logger } = this.#options;
    logger.info({ folder }, 'all snapshots can be written again (stateDir)');
  }

  #path(query: string): string {
    return join(this.#options.folder, fileName(query));
  }

  #currentOwner(): SnapshotOwner {
    return ownerOf(this.#options.nodeName, this.#options.serverAccess);
  }
}

/** Whether a file counts for the limit of the disk. What was set aside makes room, as snapshots of no open query do. */
function isCounted(name: string): boolean {
  return name.endsWith(SUFFIX) || name.startsWith(SET_ASIDE);
}

/** The code, or else the message: a message may name a file that has another name each time. */
function codeOrMessage({ code, message }: NodeJS.ErrnoException): string {
  return code ?? message;
}

function sizeOf(files: ReadonlyMap<string, SnapshotFile>): number {
  return [...files.values()].reduce((sum, { size }) => sum + size, 0);
}

/** Name of a query's file: its kind, for people, and a hash. */
function fileName(query: string): string {
  // No regular expression: a client chooses the namespace in the path, and its length.
  const [path = ''] = query.split('?', 1);
  const kind = path.slice(path.lastIndexOf('/') + 1);
  return `${kind}-${createHash('sha256').update(query).digest('hex').slice(0, 16)}${SUFFIX}`;
}
