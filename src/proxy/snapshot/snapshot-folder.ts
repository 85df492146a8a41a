import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { SingleFlight } from '../../util/single-flight.ts';
import { withTimeout } from '../../util/with-timeout.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { type SetAsideCause, SnapshotFiles } from './snapshot-files.ts';
import {
  decodeSnapshot,
  encodeSnapshot,
  type SnapshotHeader,
  type StoredState,
  snapshotBytes,
} from './snapshot-format.ts';
import { foreignTo, ownerOf, type SnapshotOwner } from './snapshot-owner.ts';
import { SnapshotWriter } from './snapshot-writer.ts';

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
  /** How long the API server may be unreachable at the start before a snapshot is used, in milliseconds. */
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
   * Makes the process that this one replaces write its newest state. Resolves when it has and shows nothing newer, or
   * when there is none. Never rejects. Default: there is none.
   */
  readonly flushLastProcess?: () => Promise<void>;
  readonly logger: Logger;
}

/** How long a disk that hangs delays the end of the process, in milliseconds. */
const CLOSE_MS = 5_000;
/** How long a read may take, together with those before it, in milliseconds. */
const LOAD_MS = 2_000;
const SLOW_MS = 30_000;
const RETRY_MS = 60_000;

const WAY_OUT: Readonly<Record<SetAsideCause, string>> = {
  torn: 'it is kept to be looked at and can be deleted; the next one is written from the live state',
  foreign: 'delete it, or set stateDir to the folder of this node and cluster',
  newer: 'start the newer program again, or delete it',
};

const FAILED = {
  read: 'a snapshot cannot be read (stateDir)',
  write: 'a snapshot cannot be written, the one before is kept (stateDir)',
} as const;

/** Why the state of a query is not on disk. */
interface Problem {
  /** The code, or else the message: a message may name a file that has another name each time. */
  readonly cause: string;
  readonly message: string;
}

/**
 * The room snapshot: the last state of each query on disk. It must not decide what a client sees: it hands a state to the
 * reflector, and only while it has no list of an API server.
 *
 * There is one file per query. So a heartbeat of the own Node does not rewrite 15 MB of slices, and a
 * torn file costs one query only.
 *
 *     reflector ─▶ SnapshotRestore ─▶ SnapshotWriter (when) ─▶ SnapshotFolder (what, one at a time) ─▶ SnapshotFiles
 *                        │
 *                  SnapshotFallback
 *
 * Invariant: a file holds one state of the API server, byte for byte, at one version, for one query of this node and
 * cluster. Any other file is set aside.
 *
 * The folder is made and checked before the first read and before each write, so that one that has gone is made again.
 * Nothing depends on the disk: its failures are logged and counted, and the program continues without it.
 */
export class SnapshotFolder {
  readonly graceMs: number;
  readonly #options: SnapshotFolderOptions;
  readonly #writers = new Set<SnapshotWriter>();
  readonly #unsubscribe: () => void;
  readonly #counts = { writes: 0, failures: 0, setAside: { torn: 0, foreign: 0, newer: 0 } };
  /** When closed queries may write again, as of performance.now(). */
  readonly #notBefore = new Map<string, number>();
  /** By open query; logged once per cause until all of them can be written again. */
  readonly #problems = new Map<string, Problem>();
  readonly #flushing = new SingleFlight<void>();
  /** The files when they were last used; undefined: the folder could not be used yet. */
  #files: SnapshotFiles | undefined;
  /** Resolves when nothing is read or written: each file that hangs blocks one of the four threads of Node. */
  #queue: Promise<unknown> = Promise.resolve();
  #owner: string;
  #isEnding = false;
  /** A close did not wait for the disk any longer. */
  #hasTimedOut = false;

  constructor(options: SnapshotFolderOptions) {
    this.#options = options;
    this.graceMs = options.graceMs;
    this.#owner = JSON.stringify(this.#currentOwner());
    this.#unsubscribe = options.credentials.onTlsChange(() => this.#onTlsChange());
  }

  /** For metrics. */
  get counters() {
    return this.#counts;
  }

  /** Why some of the state is not on disk; undefined: all of it is. */
  get problem(): string | undefined {
    const [problem] = this.#problems.values();
    return problem?.message;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#files?.bytes ?? 0;
  }

  /** Starts to keep the objects of one query, until {@link closeWriter}. */
  open(query: string): SnapshotWriter {
    const { quietMs = 1_000, unrestMs = 10_000, retryMs = RETRY_MS } = this.#options;
    const { writeBytesPerSecond } = this.#options;
    const writer = new SnapshotWriter({
      query,
      save: (state) => this.#save(query, state),
      times: { quietMs, unrestMs, retryMs, writeBytesPerSecond },
      notBefore: this.#notBefore.get(query) ?? 0,
    });
    this.#writers.add(writer);
    return writer;
  }

  /** Lets a writer write once more, if its write bound allows it or the process ends. Never rejects. */
  async closeWriter(writer: SnapshotWriter): Promise<void> {
    await this.#untilDisk(writer.finish(this.#isEnding));
    this.#writers.delete(writer);
    this.#problems.delete(writer.query);
    this.#keepBound(writer);
  }

  /** The state of a query on disk; undefined if there is none that can be trusted. Never rejects. */
  async load(query: string): Promise<StoredState | undefined> {
    try {
      return await withTimeout(
        LOAD_MS,
        this.#inTurn(async () => this.#read(this.#files ?? (await this.#open()), query)),
      );
    } catch (error) {
      this.#failed('read', query, error as Error);
      return undefined;
    }
  }

  /** The same, after the process that this one replaces has written its newest state. Never rejects. */
  async loadNewest(query: string): Promise<StoredState | undefined> {
    const { flushLastProcess } = this.#options;
    // One request for all queries that are read together.
    if (flushLastProcess !== undefined) await this.#flushing.run(flushLastProcess);
    return await this.load(query);
  }

  /** Sets a file aside that was whole, but whose objects cannot be parsed. Never rejects. */
  async distrust(query: string, problem: string): Promise<void> {
    const name = fileName(query);
    await this.#inTurn(async () => this.#setAside(await this.#open(), name, 'torn', problem)).catch(
      (error) => this.#failed('read', query, error),
    );
  }

  /** Writes all that is not on disk, for the process that replaces this one. Never rejects. */
  async flush(): Promise<void> {
    await this.#untilDisk(Promise.all(Array.from(this.#writers, (writer) => writer.flush())));
  }

  /** Call it when the process ends, before the writers are closed: each then writes once more. */
  end(): void {
    this.#isEnding = true;
  }

  /** Call it after the writers are closed. It waits for the disk unless one of them has timed out. */
  async close(): Promise<void> {
    this.#unsubscribe();
    if (!this.#hasTimedOut) await this.#untilDisk(this.#queue);
  }

  /** Does this when nobody else uses the files. */
  async #inTurn<T>(use: () => Promise<T>): Promise<T> {
    const used = this.#queue.then(use);
    const ignore = (): void => {};
    // Without the result, which the queue would keep in memory.
    this.#queue = used.then(ignore, ignore);
    return await used;
  }

  /** Makes the folder if it is missing, checks it and lists the files. */
  async #open(): Promise<SnapshotFiles> {
    this.#files = await SnapshotFiles.open(this.#options.folder);
    return this.#files;
  }

  async #read(files: SnapshotFiles, query: string): Promise<StoredState | undefined> {
    const name = fileName(query);
    const file = await files.read(name, this.#options.maxBytes);
    if (file === undefined) return undefined;
    const decoded = decodeSnapshot(file);
    if (decoded.kind !== 'whole') {
      await this.#setAside(files, name, decoded.kind, decoded.problem);
      return undefined;
    }
    const { header, objects } = decoded;
    const foreign =
      header.question === query
        ? foreignTo(this.#currentOwner(), header)
        : `it answers ${JSON.stringify(header.question)}`;
    if (foreign === undefined) return { ...header, objects };
    await this.#setAside(files, name, 'foreign', foreign);
    return undefined;
  }

  /** Renames a file that cannot be trusted, and logs why. Never rejects. */
  async #setAside(
    files: SnapshotFiles,
    name: string,
    cause: SetAsideCause,
    problem: string,
  ): Promise<void> {
    const { logger } = this.#options;
    this.#counts.setAside[cause]++;
    try {
      const file = await files.setAside(name, cause);
      logger.error({ file, cause, problem }, `a snapshot was set aside: ${WAY_OUT[cause]}`);
    } catch (error) {
      const { message: err } = error as Error;
      const file = files.path(name);
      logger.error({ file, cause, problem, err }, 'a snapshot is not trusted; delete it');
    }
  }

  /** Returns the bytes that were written. Rejects with `TooLarge`, or with the error of the disk; both are logged. */
  async #save(query: string, state: StoredState): Promise<number> {
    const { slowMs = SLOW_MS } = this.#options;
    // The write goes on, because nothing can end it. Writes that wait behind it are slow too.
    const slow = setTimeout(() => {
      this.#failed('write', query, new Error(`the disk takes more than ${slowMs / 1000} s`));
    }, slowMs);
    slow.unref();
    try {
      const bytes = await this.#inTurn(async () => this.#write(await this.#open(), query, state));
      this.#counts.writes++;
      this.#written(query);
      return bytes;
    } catch (error) {
      this.#failed('write', query, error as Error);
      throw error;
    } finally {
      clearTimeout(slow);
    }
  }

  /**
   * Writes nothing, and returns 0, if the file has a state that was reported later, to another process, or to the next
   * writer of the same query.
   */
  async #write(files: SnapshotFiles, query: string, state: StoredState): Promise<number> {
    const { resourceVersion, savedAt, objects } = state;
    const header: SnapshotHeader = {
      ...this.#currentOwner(),
      question: query,
      resourceVersion,
      savedAt,
      objects: objects.length,
      bytes: objects.reduce((sum, { length }) => sum + length, 0),
    };
    const name = fileName(query);
    const bytes = snapshotBytes(header);
    const onDisk = await files.header(name);
    if (onDisk?.question === query && isLater(onDisk.savedAt, savedAt)) return 0;
    const keep = new Set(Array.from(this.#writers, (writer) => fileName(writer.query)));
    await files.makeRoom(name, bytes, { maxBytes: this.#options.maxBytes, keep });
    await files.write(name, encodeSnapshot(header, objects));
    this.#rewriteGone(files);
    return bytes;
  }

  /** Files that were written before have gone: somebody has removed or replaced the folder. */
  #rewriteGone(files: SnapshotFiles): void {
    const gone = [...this.#writers].filter(
      ({ isOnDisk, query }) => isOnDisk && !files.has(fileName(query)),
    );
    if (gone.length === 0) return;
    const { folder } = files;
    const text = 'snapshots have gone from their folder: they are written again (stateDir)';
    this.#options.logger.warn({ folder, files: gone.length }, text);
    for (const writer of gone) writer.rewrite();
  }

  #failed(
    what: keyof typeof FAILED,
    query: string,
    { code, message }: NodeJS.ErrnoException,
  ): void {
    this.#counts.failures++;
    const cause = code ?? message;
    const isLogged = [...this.#problems.values()].some((each) => each.cause === cause);
    // No later write would resolve the problem of a closed query.
    const isOpen = [...this.#writers].some((writer) => writer.query === query);
    if (isOpen) this.#problems.set(query, { cause, message });
    if (isLogged) return;
    const { folder, logger } = this.#options;
    logger.error({ folder, query, err: message }, FAILED[what]);
  }

  #written(query: string): void {
    const had = this.#problems.delete(query);
    if (!had || this.#problems.size > 0) return;
    const { folder, logger } = this.#options;
    logger.info({ folder }, 'all snapshots can be written again (stateDir)');
  }

  /** A query that is opened again keeps its write bound. */
  #keepBound({ query, notBefore }: SnapshotWriter): void {
    this.#notBefore.set(query, notBefore);
    const now = performance.now();
    for (const [each, until] of this.#notBefore) if (until <= now) this.#notBefore.delete(each);
  }

  /** Waits for work on the disk, but not for a disk that hangs. */
  async #untilDisk(work: Promise<unknown>): Promise<void> {
    try {
      await withTimeout(CLOSE_MS, work);
    } catch (error) {
      if (this.#hasTimedOut) return;
      this.#hasTimedOut = true;
      const { folder, logger } = this.#options;
      const text =
        'what is not on disk yet is not waited for, the snapshots before are kept (stateDir)';
      logger.error({ folder, err: (error as Error).message }, text);
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
    for (const writer of this.#writers) writer.rewrite();
  }
}

/** A time in the future is from a clock that was wrong. Such a file would never be replaced. */
function isLater(savedAt: number, than: number): boolean {
  return savedAt > than && savedAt <= Date.now();
}

/** Name of a query's file: its kind, for people, and a hash. */
function fileName(query: string): string {
  // No regular expression: a client chooses the namespace in the path, and its length.
  const [path = ''] = query.split('?', 1);
  const kind = path.slice(path.lastIndexOf('/') + 1);
  return `${kind}-${createHash('sha256').update(query).digest('hex').slice(0, 16)}`;
}
