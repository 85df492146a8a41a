import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { SingleFlight } from '../util/single-flight.ts';
import { withTimeout } from '../util/with-timeout.ts';
import { SnapshotFiles } from './snapshot-files.ts';
import { FolderWatch } from './snapshot-folder-watch.ts';
import {
  encodeSnapshot,
  type SnapshotHeader,
  type StoredState,
  snapshotBytes,
} from './snapshot-format.ts';
import { ownerOf, type SnapshotOwner } from './snapshot-owner.ts';
import { SnapshotReader } from './snapshot-reader.ts';
import { type SnapshotAccess, SnapshotWriter } from './snapshot-writer.ts';
import { WriteProblems } from './write-problems.ts';

export interface SnapshotFolderOptions {
  /** Folder of the snapshots, used for nothing else; made when it is missing. */
  readonly folder: string;
  readonly nodeName: string;
  /** Identify the cluster that a snapshot is from. */
  readonly credentials: Credentials;
  /** All snapshots together take no more than this on disk. */
  readonly maxBytes: number;
  /** What one query may write in the long run, so that many changes do not wear out flash memory. */
  readonly writeBytesPerSecond: number;
  /** How long the API server may be out of reach at the start before a snapshot is used, in milliseconds. */
  readonly graceMs: number;
  /** A snapshot is written once nothing has changed for this long, in milliseconds; default 1,000. */
  readonly quietMs?: number;
  /** … or at the latest this long after the first change, in milliseconds; default 10,000. */
  readonly unrestMs?: number;
  /** Pause after a failed write, in milliseconds; default 60,000. */
  readonly retryMs?: number;
  /** A write that takes longer than this is reported as a failure, in milliseconds; default 30,000. */
  readonly slowMs?: number;
  /**
   * Makes the process that this one replaces write its newest state; resolves when it has, or when there is none.
   * Never rejects. Default: there is none.
   */
  readonly flushLastProcess?: () => Promise<void>;
  readonly logger: Logger;
}

/** How long a disk that hangs delays the end of the process, in milliseconds. */
const CLOSE_MS = 5_000;
const SLOW_MS = 30_000;
const RETRY_MS = 60_000;
/** How often the folder is looked for, in milliseconds. */
const CHECK_MS = 10_000;

/**
 * The snapshots on disk: load and save per query, one file each. So a heartbeat of the own Node does not rewrite
 * 15 MB of slices, and a torn file costs one query only.
 *
 *     reflector ─▶ SnapshotRestore ─▶ SnapshotWriter (when) ─▶ SnapshotFolder (one write at a time, the bound)
 *                        │                                        │            │            │
 *                  SnapshotFallback                        SnapshotReader  SnapshotFiles  FolderWatch
 *
 * Invariant: a file holds one state of the API server, byte for byte, at one version, for one query of this node and
 * cluster. Any other file is set aside.
 *
 * Nothing depends on the disk: its failures are logged and counted, and the program continues without it.
 */
export class SnapshotFolder implements SnapshotAccess {
  readonly graceMs: number;
  readonly #options: SnapshotFolderOptions;
  readonly #files: SnapshotFiles;
  readonly #folder: FolderWatch;
  readonly #reader: SnapshotReader;
  readonly #problems: WriteProblems;
  readonly #writers = new Set<SnapshotWriter>();
  readonly #unsubscribe: () => void;
  readonly #counts = { writes: 0, failures: 0 };
  /** When closed queries may write again, as of performance.now(). */
  readonly #notBefore = new Map<string, number>();
  /** Resolves when nothing is being written: one file at a time. */
  #queue: Promise<unknown> = Promise.resolve();
  readonly #flushing = new SingleFlight<void>();
  #owner: string;
  #isEnding = false;
  /** A close did not wait for the disk any longer. */
  #hasTimedOut = false;

  constructor(options: SnapshotFolderOptions) {
    const { credentials, folder, logger, maxBytes, retryMs = RETRY_MS } = options;
    this.#options = options;
    this.graceMs = options.graceMs;
    const files = new SnapshotFiles(folder);
    this.#files = files;
    this.#folder = new FolderWatch({
      ...{ files, retryMs, logger },
      checkMs: Math.min(CHECK_MS, retryMs),
      onFailed: () => this.#counts.failures++,
      onReplaced: () => this.#onFolderGone(),
    });
    const [ready, owner] = [() => this.#ready(), () => this.#currentOwner()];
    this.#reader = new SnapshotReader({ files, ready, owner, maxBytes, logger });
    this.#problems = new WriteProblems(logger.child({ folder }));
    this.#owner = JSON.stringify(this.#currentOwner());
    this.#unsubscribe = credentials.onTlsChange(() => this.#onTlsChange());
  }

  /** For metrics. */
  get counters() {
    return { ...this.#counts, setAside: this.#reader.setAsideCounts };
  }

  /** Why some of the state is not on disk; undefined: all of it is. */
  get problem(): string | undefined {
    return this.#folder.problem ?? this.#problems.message;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#files.bytes;
  }

  /** Starts to keep the objects of one query. Close the writer. */
  open(query: string): SnapshotWriter {
    const { quietMs = 1_000, unrestMs = 10_000, retryMs = RETRY_MS } = this.#options;
    const { writeBytesPerSecond } = this.#options;
    const writer = new SnapshotWriter({
      query,
      store: this,
      times: { quietMs, unrestMs, retryMs, writeBytesPerSecond, closeMs: CLOSE_MS },
      notBefore: this.#notBefore.get(query) ?? 0,
      isEnding: () => this.#isEnding,
      onClosed: (notBefore, late) => {
        if (late !== undefined) this.#timedOut(late);
        this.#writers.delete(writer);
        this.#problems.forget(query);
        this.#keepBound(query, notBefore);
      },
    });
    this.#writers.add(writer);
    return writer;
  }

  async load(query: string): Promise<StoredState | undefined> {
    return await this.#reader.load(query, fileName(query));
  }

  async loadNewest(query: string): Promise<StoredState | undefined> {
    const { flushLastProcess } = this.#options;
    // One request for all queries that are read together.
    if (flushLastProcess !== undefined) await this.#flushing.run(flushLastProcess);
    return await this.load(query);
  }

  /** Writes all that is not on disk, for the process that replaces this one. Never rejects. */
  async flush(): Promise<void> {
    const flushed = Promise.all(Array.from(this.#writers, (writer) => writer.flush()));
    await withTimeout(CLOSE_MS, flushed).catch((error) => this.#timedOut(error));
  }

  /**
   * Writes after the writes in progress. Does nothing if the file has a state that was reported later, to another
   * process, or to the next writer of the same query.
   * Rejects with `TooLarge`, or with the error of the disk.
   */
  async save(query: string, state: StoredState): Promise<number> {
    const { slowMs = SLOW_MS } = this.#options;
    const write = this.#queue.then(() => this.#write(query, state));
    this.#queue = write.catch(() => undefined);
    // The write goes on, because nothing can end it. Writes that wait behind it are slow too.
    const slow = setTimeout(() => {
      this.#failed(query, new Error(`the disk takes more than ${slowMs / 1000} s`));
    }, slowMs);
    slow.unref();
    try {
      const bytes = await write;
      this.#counts.writes++;
      this.#problems.resolve(query);
      return bytes;
    } catch (error) {
      this.#failed(query, error as Error);
      // The folder may have gone, or been replaced.
      if (!(error instanceof WrapperError)) this.#files.invalidate();
      throw error;
    } finally {
      clearTimeout(slow);
    }
  }

  async distrust(query: string, problem: string): Promise<void> {
    await this.#reader.setAside(fileName(query), 'torn', problem);
  }

  /** Call it when the process ends, before the writers are closed: each then writes once more. */
  end(): void {
    this.#isEnding = true;
  }

  /** Call it after the writers are closed. It waits for the disk unless one of them has timed out. */
  async close(): Promise<void> {
    this.#unsubscribe();
    const ended = Promise.all([this.#folder.close(), this.#queue]);
    if (this.#hasTimedOut) return;
    await withTimeout(CLOSE_MS, ended).catch((error) => this.#timedOut(error));
  }

  /** A query that is opened again keeps its write bound. */
  #keepBound(query: string, notBefore: number): void {
    this.#notBefore.set(query, notBefore);
    const now = performance.now();
    for (const [each, until] of this.#notBefore) if (until <= now) this.#notBefore.delete(each);
  }

  #timedOut({ message: err }: Error): void {
    if (this.#hasTimedOut) return;
    this.#hasTimedOut = true;
    const { folder } = this.#files;
    const text =
      'what is not on disk yet is not waited for, the snapshots before are kept (stateDir)';
    this.#options.logger.error({ folder, err }, text);
  }

  #failed(query: string, error: Error): void {
    this.#counts.failures++;
    const isOpen = [...this.#writers].some((writer) => writer.query === query);
    this.#problems.add(query, error, { isOpen, isSilent: this.#folder.problem !== undefined });
  }

  async #write(query: string, state: StoredState): Promise<number> {
    const { resourceVersion, savedAt, objects } = state;
    const header: SnapshotHeader = {
      ...this.#currentOwner(),
      query,
      resourceVersion,
      savedAt,
      objects: objects.length,
      bytes: objects.reduce((sum, { length }) => sum + length, 0),
    };
    const name = fileName(query);
    const bytes = snapshotBytes(header);
    await this.#ready();
    const onDisk = await this.#files.header(name);
    if (onDisk?.query === query && isLater(onDisk.savedAt, savedAt)) return 0;
    const keep = new Set(Array.from(this.#writers, (writer) => fileName(writer.query)));
    await this.#files.makeRoom(name, bytes, { maxBytes: this.#options.maxBytes, keep });
    await this.#files.write(name, encodeSnapshot(header, objects));
    return bytes;
  }

  async #ready(): Promise<void> {
    try {
      await this.#files.ready();
    } catch (error) {
      this.#folder.complain(error as Error);
      throw error;
    }
  }

  #currentOwner(): SnapshotOwner {
    return ownerOf(this.#options.nodeName, this.#options.credentials);
  }

  /** Files name the servers and authorities of their time; after a rotation the next process would not trust them. */
  #onTlsChange(): void {
    const owner = JSON.stringify(this.#currentOwner());
    if (owner === this.#owner) return;
    this.#owner = owner;
    this.#rewriteAll();
  }

  /** Until each file is written again, that is a problem: after a restart its state would be lost. */
  #onFolderGone(): void {
    this.#counts.failures++;
    const error = Object.assign(new Error('the folder had gone, not all files are written again'), {
      code: 'GONE',
    });
    for (const writer of this.#writers) {
      if (!writer.rewrite()) continue;
      this.#problems.add(writer.query, error, { isOpen: true, isSilent: true });
    }
  }

  #rewriteAll(): void {
    for (const writer of this.#writers) writer.rewrite();
  }
}

/** A time in the future is from a clock that was wrong. Such a file would never be replaced. */
function isLater(savedAt: number, than: number): boolean {
  return savedAt > than && savedAt <= Date.now();
}

/** Name of a query's file: its kind, for people, and a hash. */
function fileName(query: string): string {
  const [kind = ''] = /[a-z]+(?=\?|$)/.exec(query) ?? [];
  return `${kind}-${createHash('sha256').update(query).digest('hex').slice(0, 16)}`;
}
