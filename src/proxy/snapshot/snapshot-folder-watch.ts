import type { Logger } from 'pino';
import type { SnapshotFiles } from './snapshot-files.ts';

export interface FolderWatchOptions {
  readonly files: Pick<SnapshotFiles, 'folder' | 'id' | 'probe' | 'ready' | 'invalidate'>;
  /** Time between two checks, in milliseconds. */
  readonly periodMs: number;
  readonly logger: Logger;
  /** A check found that the folder cannot be used. */
  readonly onFailed: () => void;
  /** The folder has gone, or another one has replaced it: write all files again. */
  readonly onReplaced: () => void;
}

/**
 * - `unproven`: nothing was written to the folder yet, or an error occurred since.
 * - `usable`: a trial write succeeded.
 * - `broken`: it cannot be used, which was logged.
 */
type FolderState =
  | { readonly name: 'unproven' | 'usable' }
  | { readonly name: 'broken'; readonly cause: string; readonly message: string };

/**
 * Checks the folder of the snapshots: at the start, so that a folder that cannot be used is reported before the
 * first write; later from time to time, so that a folder that has gone is made and filled again.
 *
 *     unproven ── trial write ──▶ usable
 *         │                         │
 *         └── error ─▶ broken ◀─────┘      broken ── trial write ──▶ usable, which is logged
 *
 * A trial write happens only while the folder is not proven usable; more of them would wear the disk out.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  #state: FolderState = { name: 'unproven' };
  /** Device and inode of the folder at the last check. */
  #id: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void>;
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
    // Not before the constructor of the owner has returned.
    this.#checking = Promise.resolve().then(() => this.#check());
  }

  /** Why the folder cannot be used; undefined while no problem is known. */
  get problem(): string | undefined {
    return this.#state.name === 'broken' ? this.#state.message : undefined;
  }

  /** Notes why the folder cannot be used. Logs it once per cause. */
  complain({ code, message }: NodeJS.ErrnoException): void {
    // The message of a system error may name a file that has another name each time.
    const cause = code ?? message;
    if (this.#state.name === 'broken' && this.#state.cause === cause) return;
    this.#state = { name: 'broken', cause, message };
    const { logger, files } = this.#options;
    const text =
      'the folder of the snapshots cannot be used: nothing is kept on disk, and it is tried again every minute (stateDir)';
    logger.error({ folder: files.folder, err: message }, text);
  }

  /** Ends the checks; resolves when none is in progress. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#checking;
  }

  async #check(): Promise<void> {
    const { periodMs, onFailed } = this.#options;
    try {
      if (!this.#closed) await this.#checkFolder();
    } catch (error) {
      onFailed();
      this.complain(error as Error);
    }
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#checking = this.#check();
    }, periodMs);
    this.#timer.unref();
  }

  async #checkFolder(): Promise<void> {
    const { files, logger, onReplaced } = this.#options;
    const before = this.#id;
    const isSame = before === undefined || (await files.id().catch(() => undefined)) === before;
    if (!isSame) {
      const text = 'the folder of the snapshots has gone: it is made and filled again (stateDir)';
      logger.warn({ folder: files.folder }, text);
      files.invalidate();
      onReplaced();
    }
    await files.ready();
    this.#id = await files.id();
    if (this.#state.name === 'usable') return;
    await files.probe();
    const wasBroken = this.#state.name === 'broken';
    this.#state = { name: 'usable' };
    if (!wasBroken) return;
    logger.info({ folder: files.folder }, 'the folder of the snapshots can be used (stateDir)');
  }
}
