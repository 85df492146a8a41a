import type { Logger } from 'pino';
import { OncePerCause } from '../util/once-per-cause.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

export interface FolderWatchOptions {
  readonly files: Pick<SnapshotFiles, 'folder' | 'id' | 'probe' | 'ready' | 'invalidate'>;
  /** Time between two checks of a folder that can be used, in milliseconds. A check reads only its inode. */
  readonly checkMs: number;
  /** Time between two attempts to use one that cannot be used, in milliseconds. */
  readonly retryMs: number;
  readonly logger: Logger;
  /** A check found that the folder cannot be used. */
  readonly onFailed: () => void;
  /** The folder has gone, or another one has replaced it: write all files again. */
  readonly onReplaced: () => void;
}

/** A check that takes longer than this is reported, and continues, in milliseconds. */
const SLOW_MS = 5_000;

/**
 * Checks the folder of the snapshots: at the start, so that a folder that cannot be used is reported before the
 * first write; later from time to time, so that a folder that has gone is made and filled again.
 *
 * `unproven`: nothing was written to it yet. `usable`: a trial write succeeded. `broken`: it cannot be used.
 *
 *     unproven ── trial write ──▶ usable
 *         │                         │
 *         └── error ─▶ broken ◀─────┘      broken ── trial write ──▶ usable, which is logged
 *
 * A trial write happens only while the folder is not proven usable; more of them would wear the disk out.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #logged = new OncePerCause();
  #state: 'unproven' | 'usable' | 'broken' = 'unproven';
  /** Why it is broken. */
  #problem: string | undefined;
  /** Device and inode of the folder at the last check; undefined: it has to be made. */
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
    return this.#problem;
  }

  /** Notes why the folder cannot be used. Logs it once per cause. */
  complain({ code, message }: NodeJS.ErrnoException): void {
    this.#state = 'broken';
    this.#problem = message;
    // The message of a system error may name a file that has another name each time.
    if (!this.#logged.fail(code ?? message)) return;
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
    const { checkMs, retryMs } = this.#options;
    const slow = setTimeout(() => {
      this.#failed(new Error(`the disk takes more than ${SLOW_MS / 1000} s`));
    }, SLOW_MS).unref();
    try {
      if (!this.#closed) await this.#checkFolder();
    } catch (error) {
      // What was known of the folder may be wrong.
      this.#options.files.invalidate();
      this.#failed(error as Error);
    } finally {
      clearTimeout(slow);
    }
    if (this.#closed) return;
    this.#timer = setTimeout(
      () => {
        this.#checking = this.#check();
      },
      this.#state === 'broken' ? retryMs : checkMs,
    );
    this.#timer.unref();
  }

  #failed(error: Error): void {
    this.#options.onFailed();
    this.complain(error);
  }

  async #checkFolder(): Promise<void> {
    const { files, logger, onReplaced } = this.#options;
    const before = this.#id;
    const isSame = before === undefined || (await files.id().catch(() => undefined)) === before;
    if (!isSame) {
      const text = 'the folder of the snapshots has gone: it is made and filled again (stateDir)';
      logger.warn({ folder: files.folder }, text);
      files.invalidate();
      this.#id = undefined;
      onReplaced();
    }
    await files.ready();
    this.#id = await files.id();
    if (this.#state === 'usable') return;
    await files.probe();
    this.#state = 'usable';
    this.#problem = undefined;
    if (!this.#logged.succeed()) return;
    logger.info({ folder: files.folder }, 'the folder of the snapshots can be used (stateDir)');
  }
}
