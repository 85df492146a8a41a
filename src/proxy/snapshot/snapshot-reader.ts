import type { Logger } from 'pino';
import { withTimeout } from '../util/with-timeout.ts';
import type { SetAsideCause, SnapshotFiles } from './snapshot-files.ts';
import { decodeSnapshot, type StoredState } from './snapshot-format.ts';
import { foreignTo, type SnapshotOwner } from './snapshot-owner.ts';

export interface SnapshotReaderOptions {
  readonly files: SnapshotFiles;
  /** Resolves when the folder can be used. */
  readonly ready: () => Promise<unknown>;
  readonly owner: () => SnapshotOwner;
  readonly maxBytes: number;
  readonly logger: Logger;
}

/** How long a read may take, together with those before it, in milliseconds. */
const LOAD_MS = 2_000;

const WAY_OUT: Readonly<Record<SetAsideCause, string>> = {
  torn: 'it is kept to be looked at and can be deleted; the next one is written from the live state',
  foreign: 'delete it, or set stateDir to the folder of this node and cluster',
  newer: 'start the newer program again, or delete it',
};

/** Reads snapshots that can be trusted and sets all others aside. */
export class SnapshotReader {
  /** Files set aside since the start, for metrics. */
  readonly setAsideCounts: Record<SetAsideCause, number> = { torn: 0, foreign: 0, newer: 0 };
  readonly #options: SnapshotReaderOptions;
  /** Resolves when nothing is being read. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
  }

  /** The state in a file; undefined if there is none that can be trusted. Never rejects. */
  async load(query: string, name: string): Promise<StoredState | undefined> {
    const { files, logger, owner } = this.#options;
    let file: Buffer | undefined;
    try {
      file = await withTimeout(LOAD_MS, this.#readNext(name));
    } catch (error) {
      const err = (error as Error).message;
      logger.error({ file: files.path(name), err }, 'a snapshot cannot be read (stateDir)');
      return undefined;
    }
    if (file === undefined) return undefined;
    const decoded = decodeSnapshot(file);
    if (decoded.kind !== 'whole') {
      await this.setAside(name, decoded.kind, decoded.problem);
      return undefined;
    }
    const { header, objects } = decoded;
    const foreign =
      header.query === query
        ? foreignTo(owner(), header)
        : `it answers ${JSON.stringify(header.query)}`;
    if (foreign === undefined) return { ...header, objects };
    await this.setAside(name, 'foreign', foreign);
    return undefined;
  }

  /** Renames a file that cannot be trusted, and logs why. Never rejects. */
  async setAside(name: string, cause: SetAsideCause, problem: string): Promise<void> {
    const { files, logger } = this.#options;
    this.setAsideCounts[cause]++;
    try {
      const file = await withTimeout(LOAD_MS, files.setAside(name, cause));
      logger.error({ file, cause, problem }, `a snapshot was set aside: ${WAY_OUT[cause]}`);
    } catch (error) {
      const { message: err } = error as Error;
      const file = files.path(name);
      logger.error({ file, cause, problem, err }, 'a snapshot is not trusted; delete it');
    }
  }

  /** Reads one file at a time: each that hangs blocks one of the four threads that Node has for files and DNS. */
  async #readNext(name: string): Promise<Buffer | undefined> {
    const file = this.#queue.then(() => this.#read(name));
    const ignore = (): void => {};
    // Without its bytes, which the queue would keep in memory.
    this.#queue = file.then(ignore, ignore);
    return await file;
  }

  async #read(name: string): Promise<Buffer | undefined> {
    const { files, ready, maxBytes } = this.#options;
    // A folder that others can write is not read from.
    const usable = await ready().then(
      () => true,
      () => false,
    );
    return usable ? await files.read(name, maxBytes) : undefined;
  }
}
