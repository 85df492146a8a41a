import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import { OncePerCause } from '../../util/once-per-cause.ts';
import { SingleFlight } from '../../util/single-flight.ts';

export interface FileFollowerOptions {
  /**
   * Reads the files and takes over their new content. If it throws, the old content stays in use. `force` is true
   * for {@link FileFollower.forceReread}.
   */
  readonly read: (force: boolean) => Promise<void>;
  /** Called with the error for the first failure of each cause (message), so that it can be logged. */
  readonly onFailure: (error: Error) => void;
  /** Time between two readings, in milliseconds; default 10,000. */
  readonly pollMs?: number;
  /** Files that are also read soon after their folder has changed; default: none. */
  readonly watched?: readonly string[];
}

const FILE_POLL_MS = 10_000;
/** Related files are written one after the other, so they are read this long after a change, in milliseconds. */
const FILES_SETTLE_MS = 100;

/**
 * Reads files again and again, because Kubernetes and operators replace them while we run. Contents must be compared
 * by the reader: times say little, because Kubernetes swaps a symlink to a whole new folder.
 */
export class FileFollower {
  readonly #options: FileFollowerOptions;
  readonly #poll: NodeJS.Timeout;
  readonly #watchers: FSWatcher[] = [];
  readonly #reading = new SingleFlight<void>();
  readonly #forced = new SingleFlight<void>();
  readonly #failure = new OncePerCause();
  #settle: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(options: FileFollowerOptions) {
    this.#options = options;
    this.#poll = setInterval(() => void this.reread(), options.pollMs ?? FILE_POLL_MS).unref();
    this.#watchFolders(options.watched ?? []);
  }

  /** Why the last reading failed; undefined if it did not. */
  get problem(): string | undefined {
    return this.#failure.cause;
  }

  /** How many readings have failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Reads the files now, or shares the reading under way. Never rejects. */
  reread(): Promise<void> {
    return this.#reading.run(() => this.#read(false));
  }

  /** Reads the files after the reading under way, which may have begun before they changed. Never rejects. */
  forceReread(): Promise<void> {
    return this.#forced.run(async () => {
      await this.#reading.current();
      await this.#reading.run(() => this.#read(true));
    });
  }

  close(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#settle);
    for (const watcher of this.#watchers) watcher.close();
  }

  async #read(force: boolean): Promise<void> {
    try {
      await this.#options.read(force);
      this.#failure.succeed();
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#failures++;
      if (this.#failure.fail(error.message)) this.#options.onFailure(error);
    }
  }

  /** Watches folders instead of files, because most tools replace files and symlinks instead of writing to them. */
  #watchFolders(files: readonly string[]): void {
    for (const folder of new Set(files.map((file) => dirname(file)))) {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#rereadSoon());
        watcher.on('error', () => watcher.close());
        this.#watchers.push(watcher);
      } catch {
        // The files are still polled.
      }
    }
  }

  #rereadSoon(): void {
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      void this.reread();
    }, FILES_SETTLE_MS).unref();
  }
}
