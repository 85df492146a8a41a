import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { ObjectBytes } from '../../filter/codec/codec.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { withTimeout } from '../util/with-timeout.ts';
import { type SetAsideCause, type SnapshotFile, SnapshotFiles } from './snapshot-files.ts';
import { FolderWatch } from './snapshot-folder-watch.ts';
import {
  decodeSnapshot,
  encodeSnapshot,
  type SnapshotHeader,
  snapshotBytes,
} from './snapshot-format.ts';
import { foreignTo, ownerOf, type SnapshotOwner } from './snapshot-owner.ts';
import { SnapshotWriter, type StoredState } from './snapshot-writer.ts';

export interface SnapshotStoreOptions {
  /** Folder of the snapshots, used by nothing else; made when it is missing. */
  readonly folder: string;
  readonly nodeName: string;
  /** Tells which cluster a snapshot is of. */
  readonly credentials: Credentials;
  /** All snapshots together take no more than this on disk. */
  readonly maxBytes: number;
  /** What one question may write in the long run, so that churn does not wear flash memory out. */
  readonly writeBytesPerSecond: number;
  /** How long the API server may be out of reach at the start before a snapshot is used, in milliseconds. */
  readonly graceMs: number;
  /** A snapshot is written once nothing has changed for this long, in milliseconds; default 1,000. */
  readonly quietMs?: number;
  /** … or at the latest this long after the first change, in milliseconds; default 10,000. */
  readonly unrestMs?: number;
  /** After a failure the disk is left alone for this long, in milliseconds; default 60,000. */
  readonly retryMs?: number;
  /** A write that takes longer than this is told as a failure, in milliseconds; default 30,000. */
  readonly slowMs?: number;
  readonly logger: Logger;
}

/** A disk that takes longer than this to read a snapshot, and those before it, is not waited for, in milliseconds. */
const LOAD_MS = 2_000;
/** A disk that hangs does not keep the process from ending for longer than this, in milliseconds. */
const CLOSE_MS = 5_000;
const SLOW_MS = 30_000;
const RETRY_MS = 60_000;
/** Files of questions that nobody asks any more are kept up to this number. */
const MAX_FILES = 256;

const WAY_OUT: Readonly<Record<SetAsideCause, string>> = {
  torn: 'it is kept to be looked at and can be deleted; the next one is written from the live state',
  foreign: 'delete it, or set stateDir to the folder of this node and cluster',
  newer: 'start the newer program again, or delete it',
};

/**
 * The snapshots on disk: one file for each question, so that a heartbeat of the own Node does not write
 * 15 MB of slices again, and that one torn file takes nothing else along.
 *
 * Invariant: a file holds one state that the API server itself had, byte for byte, up to one version, of one
 * question of this node and cluster; what is anything else is never read from.
 *
 * The disk is no condition of anything: when it fails, that is logged and counted, and life goes on without.
 */
export class SnapshotStore {
  readonly graceMs: number;
  readonly #options: SnapshotStoreOptions;
  readonly #files: SnapshotFiles;
  readonly #keepers = new Set<SnapshotWriter>();
  readonly #unsubscribe: () => void;
  /** The files as they are; undefined until the folder could be used. */
  #known: Map<string, SnapshotFile> | undefined;
  /** The folder is being made ready. */
  #preparing: Promise<Map<string, SnapshotFile>> | undefined;
  readonly #watch: FolderWatch;
  /** Ends when nothing is being written: one file at a time. */
  #queue: Promise<unknown> = Promise.resolve();
  /** Ends when nothing is being read. */
  #reading: Promise<unknown> = Promise.resolve();
  /** From when on questions that nobody asks now may write again, as of performance.now(). */
  readonly #notBefore = new Map<string, number>();
  #ending = false;
  /** A close has waited for the disk in vain. */
  #givenUp = false;
  #owner: string;
  #writes = 0;
  #failures = 0;
  /** What the disk said last, by question; nothing of those that were written. */
  readonly #complaints = new Map<string, { readonly cause: string; readonly message: string }>();
  readonly #setAside = { torn: 0, foreign: 0, newer: 0 };

  constructor(options: SnapshotStoreOptions) {
    this.#options = options;
    this.graceMs = options.graceMs;
    this.#files = new SnapshotFiles(options.folder);
    this.#watch = new FolderWatch({
      files: this.#files,
      periodMs: options.retryMs ?? RETRY_MS,
      logger: options.logger,
      prepare: async () => {
        await this.#prepared();
      },
      onFailed: () => this.#failures++,
      onReplaced: () => {
        this.#known = undefined;
        for (const keeper of this.#keepers) keeper.touch();
      },
    });
    this.#owner = JSON.stringify(this.#currentOwner());
    this.#unsubscribe = options.credentials.onTlsChange(() => this.#ownerChanged());
  }

  /** For metrics. */
  get counters() {
    return { writes: this.#writes, failures: this.#failures, setAside: this.#setAside };
  }

  /** Why some of it is not on disk; undefined: all is. */
  get problem(): string | undefined {
    const [complaint] = this.#complaints.values();
    return this.#watch.problem ?? complaint?.message;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return [...(this.#known?.values() ?? [])].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Keeps the objects of one question from now on; close it. */
  open(query: string): SnapshotWriter {
    const { quietMs = 1_000, unrestMs = 10_000, retryMs = RETRY_MS } = this.#options;
    const { writeBytesPerSecond } = this.#options;
    const keeper = new SnapshotWriter({
      query,
      times: { quietMs, unrestMs, retryMs, writeBytesPerSecond, closeMs: CLOSE_MS },
      load: () => this.#load(query),
      write: (state) => this.#enqueue(query, state),
      distrust: (problem) => this.#distrust(nameOf(query), 'torn', problem),
      notBefore: this.#notBefore.get(query) ?? 0,
      isEnding: () => this.#ending,
      onLate: (error) => this.#late(error),
      onClose: (notBefore) => {
        this.#keepers.delete(keeper);
        this.#complaints.delete(query);
        this.#rest(query, notBefore);
      },
    });
    this.#keepers.add(keeper);
    return keeper;
  }

  /** Call it before the keepers are closed because the process ends: each writes once more. */
  end(): void {
    this.#ending = true;
  }

  /** Call it after the keepers are closed: a disk that one of them gave up is not waited for again. */
  async close(): Promise<void> {
    this.#unsubscribe();
    const watched = this.#watch.close();
    const ended = Promise.all([watched, this.#queue]);
    if (!this.#givenUp) await withTimeout(CLOSE_MS, ended).catch((error) => this.#late(error));
  }

  /** Remembers when a question may write again, and nothing of those that may. */
  #rest(query: string, notBefore: number): void {
    this.#notBefore.set(query, notBefore);
    const now = performance.now();
    for (const [each, until] of this.#notBefore) if (until <= now) this.#notBefore.delete(each);
  }

  #late({ message: err }: Error): void {
    if (this.#givenUp) return;
    this.#givenUp = true;
    const { folder } = this.#files;
    const said =
      'what is not on disk yet is not waited for, the snapshots before are kept (stateDir)';
    this.#options.logger.error({ folder, err }, said);
  }

  async #load(query: string): Promise<StoredState | undefined> {
    const name = nameOf(query);
    const { logger, maxBytes } = this.#options;
    let file: Buffer | undefined;
    try {
      file = await withTimeout(LOAD_MS, this.#readNext(name, maxBytes));
    } catch (error) {
      const err = (error as Error).message;
      logger.error({ file: this.#files.path(name), err }, 'a snapshot cannot be read (stateDir)');
      return undefined;
    }
    if (file === undefined) return undefined;
    const decoded = decodeSnapshot(file);
    if (decoded.kind !== 'whole') {
      await this.#distrust(name, decoded.kind, decoded.problem);
      return undefined;
    }
    const { header, objects } = decoded;
    const foreign =
      header.query === query
        ? foreignTo(this.#currentOwner(), header)
        : `it answers ${JSON.stringify(header.query)}`;
    if (foreign === undefined) return { ...header, objects };
    await this.#distrust(name, 'foreign', foreign);
    return undefined;
  }

  /** One file at a time: each that hangs takes a thread of four from whoever reads files or looks names up. */
  async #readNext(name: string, maxBytes: number): Promise<Buffer | undefined> {
    const file = this.#reading.then(async () => {
      // Nothing is believed that lies in a folder which others can write.
      const usable = await this.#prepared().then(
        () => true,
        () => false,
      );
      return usable ? await this.#files.read(name, maxBytes) : undefined;
    });
    const ignore = (): void => {};
    // Without its bytes, which would be held for as long as nothing else is read.
    this.#reading = file.then(ignore, ignore);
    return await file;
  }

  async #distrust(name: string, cause: SetAsideCause, problem: string): Promise<void> {
    this.#setAside[cause]++;
    const { logger } = this.#options;
    try {
      const file = await withTimeout(LOAD_MS, this.#files.setAside(name, cause));
      logger.error({ file, cause, problem }, `a snapshot was set aside: ${WAY_OUT[cause]}`);
    } catch (error) {
      const { message: err } = error as Error;
      const file = this.#files.path(name);
      logger.error({ file, cause, problem, err }, 'a snapshot is not trusted; delete it');
    }
  }

  /** Writes after what is being written. Rejects with `TooLarge`, or with what the disk says. */
  async #enqueue(
    query: string,
    state: { readonly resourceVersion: string; readonly objects: readonly ObjectBytes[] },
  ): Promise<number> {
    const { slowMs = SLOW_MS } = this.#options;
    const write = this.#queue.then(() => this.#write(query, state));
    this.#queue = write.catch(() => undefined);
    // Whatever waits behind a disk that hangs is as late. It goes on waiting: nothing can end a write.
    const slow = setTimeout(() => {
      this.#failures++;
      this.#complain(query, new Error(`the disk takes more than ${slowMs / 1000} s`));
    }, slowMs);
    slow.unref();
    try {
      const bytes = await write;
      this.#writes++;
      this.#wentWell(query);
      return bytes;
    } catch (error) {
      this.#failures++;
      this.#complain(query, error as NodeJS.ErrnoException);
      // The folder may have gone, or be another one.
      if (!(error instanceof WrapperError)) this.#known = undefined;
      throw error;
    } finally {
      clearTimeout(slow);
    }
  }

  /** Once per cause: its message may name a file that has another name each time. */
  #complain(query: string, { code, message }: NodeJS.ErrnoException): void {
    const cause = code ?? message;
    const known = [...this.#complaints.values()].some((each) => each.cause === cause);
    // Of one that nobody asks any more no write would take it back.
    const isAsked = Array.from(this.#keepers, (keeper) => keeper.query).includes(query);
    if (isAsked) this.#complaints.set(query, { cause, message });
    // Where the folder is at fault, that was logged.
    if (known || this.#watch.problem !== undefined) return;
    const { folder } = this.#files;
    const said = 'a snapshot cannot be written, the one before is kept (stateDir)';
    this.#options.logger.error({ folder, query, err: message }, said);
  }

  #wentWell(query: string): void {
    const complained = this.#complaints.delete(query);
    if (!complained || this.#complaints.size > 0) return;
    const { folder } = this.#files;
    this.#options.logger.info({ folder }, 'all snapshots can be written again (stateDir)');
  }

  async #write(
    query: string,
    { resourceVersion, objects }: Pick<StoredState, 'resourceVersion' | 'objects'>,
  ): Promise<number> {
    const header: SnapshotHeader = {
      ...this.#currentOwner(),
      query,
      resourceVersion,
      savedAt: Date.now(),
      objects: objects.length,
      bytes: objects.reduce((sum, { length }) => sum + length, 0),
    };
    const name = nameOf(query);
    const bytes = snapshotBytes(header);
    const known = await this.#prepared();
    await this.#makeRoom(known, name, bytes);
    await this.#files.write(name, encodeSnapshot(header, objects));
    known.set(name, { bytes, modified: header.savedAt });
    return bytes;
  }

  async #prepared(): Promise<Map<string, SnapshotFile>> {
    if (this.#known !== undefined) return this.#known;
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = undefined;
    });
    return await this.#preparing;
  }

  async #prepare(): Promise<Map<string, SnapshotFile>> {
    try {
      await this.#files.prepare();
      this.#known = await this.#files.list();
      return this.#known;
    } catch (error) {
      this.#watch.complain(error as NodeJS.ErrnoException);
      throw error;
    }
  }

  /** Removes files of questions that nobody asks now, the oldest first. Throws `TooLarge`. */
  async #makeRoom(known: Map<string, SnapshotFile>, name: string, bytes: number): Promise<void> {
    const { maxBytes } = this.#options;
    const inUse = new Set([name, ...Array.from(this.#keepers, (each) => nameOf(each.query))]);
    const unused = [...known]
      .filter(([other]) => !inUse.has(other))
      .sort(([, a], [, b]) => a.modified - b.modified);
    let total = this.bytes - (known.get(name)?.bytes ?? 0) + bytes;
    for (const [other, file] of unused) {
      if (total <= maxBytes && known.size <= MAX_FILES) break;
      await this.#files.remove(other);
      known.delete(other);
      total -= file.bytes;
    }
    if (total <= maxBytes) return;
    const problem = `the snapshots would take ${total} bytes, more than stateMaxBytes=${maxBytes}`;
    throw new WrapperError('TooLarge', problem);
  }

  #currentOwner(): SnapshotOwner {
    return ownerOf(this.#options.nodeName, this.#options.credentials);
  }

  /** What is on disk names the cluster as it was known then: before long nobody would know it again. */
  #ownerChanged(): void {
    const owner = JSON.stringify(this.#currentOwner());
    if (owner === this.#owner) return;
    this.#owner = owner;
    for (const keeper of this.#keepers) keeper.touch();
  }
}

/** Name of a question's file: its kind, to be read by people, and a hash. */
function nameOf(query: string): string {
  const [kind = ''] = /[a-z]+(?=\?|$)/.exec(query) ?? [];
  return `${kind}-${createHash('sha256').update(query).digest('hex').slice(0, 16)}`;
}
