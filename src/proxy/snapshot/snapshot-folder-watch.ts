import type { Logger } from 'pino';
import type { SnapshotFiles } from './snapshot-files.ts';

export interface FolderWatchOptions {
  readonly files: Pick<SnapshotFiles, 'folder' | 'id' | 'probe'>;
  /** Time between two looks, in milliseconds. */
  readonly periodMs: number;
  readonly logger: Logger;
  /** Makes the folder ready, where it is not. Rejects with why it cannot be used. */
  readonly prepare: () => Promise<void>;
  /** A look found that it cannot be used. */
  readonly onFailed: () => void;
  /** Another folder, or none, is where the snapshots were. */
  readonly onReplaced: () => void;
}

/**
 * Looks after the folder of the snapshots: at the start, so that one that cannot be used is reported then and not
 * with the first write, and from time to time, so that one that vanished is made and filled again.
 *
 * A file is written for trial at the start and while there is a problem; else it would only wear the disk out.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  #problem: { readonly cause: string; readonly message: string } | undefined;
  #isProven = false;
  #id: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void>;
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
    // Not within the constructor of who owns this.
    this.#looking = Promise.resolve().then(() => this.#look());
  }

  /** Why the folder cannot be used; undefined: it can, as far as is known. */
  get problem(): string | undefined {
    return this.#problem?.message;
  }

  /** Notes why the folder cannot be used; logged once per cause. */
  complain({ code, message }: NodeJS.ErrnoException): void {
    // The message of a system error may name a file that has another name each time.
    const cause = code ?? message;
    this.#isProven = false;
    if (cause === this.#problem?.cause) return;
    this.#problem = { cause, message };
    const { logger, files } = this.#options;
    const said =
      'the folder of the snapshots cannot be used: nothing is kept on disk, and it is tried again every minute (stateDir)';
    logger.error({ folder: files.folder, err: message }, said);
  }

  /** Ends it; resolves when nothing is looked at any more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { periodMs, onFailed } = this.#options;
    try {
      if (!this.#closed) await this.#check();
    } catch (error) {
      onFailed();
      this.complain(error as NodeJS.ErrnoException);
    }
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, periodMs);
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    const { files, logger, prepare, onReplaced } = this.#options;
    const before = this.#id;
    const wasThere = before === undefined || (await files.id().catch(() => undefined)) === before;
    if (!wasThere) {
      const said = 'the folder of the snapshots has gone: it is made and filled again (stateDir)';
      logger.warn({ folder: files.folder }, said);
      onReplaced();
    }
    await prepare();
    this.#id = await files.id();
    if (this.#isProven) return;
    await files.probe();
    this.#isProven = true;
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    logger.info({ folder: files.folder }, 'the folder of the snapshots can be used (stateDir)');
  }
}
