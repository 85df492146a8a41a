import type { ObjectBytes } from '../../filter/codec/codec.ts';
import type { Change } from '../../filter/codec/facts/change.ts';
import type { StoredState } from './snapshot-format.ts';

export interface SnapshotWriterOptions {
  /** Query with its encoding. */
  readonly query: string;
  /**
   * Writes a state; returns the bytes it took, 0 if the disk has a newer one. Rejects with an error that has been
   * logged.
   */
  readonly save: (state: StoredState) => Promise<number>;
  readonly times: {
    readonly quietMs: number;
    readonly unrestMs: number;
    /** Pause after a failed write. */
    readonly retryMs: number;
    readonly writeBytesPerSecond: number;
  };
  /** See {@link SnapshotWriter.notBefore}. */
  readonly notBefore: number;
}

/** A flush may be this far ahead of the write bound, in milliseconds; the writes after it wait for longer. */
const MAX_AHEAD_MS = 600_000;
/** A longer timer fires immediately, in milliseconds: writeBytesPerSecond may be a few bytes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Holds the raw objects of one query and writes them to disk: after a quiet time without changes, at the latest
 * after a longer time, and never more in the long run than `writeBytesPerSecond`.
 *
 * Each write is one state: the objects after a change, with the version of that change.
 */
export class SnapshotWriter {
  readonly query: string;
  readonly #options: SnapshotWriterOptions;
  readonly #objects = new Map<string, ObjectBytes>();
  #resourceVersion = '';
  /** When the API server reported it, in milliseconds since the epoch. */
  #savedAt = 0;
  /**
   * - `restored`: nothing, or only what came from disk; it is written again only if the folder has gone.
   * - `live`: the API server itself has reported the state.
   * - `closed`: only the last write is left.
   */
  #state: 'restored' | 'live' | 'closed' = 'restored';
  /** When the first change came that is not on disk; monotonic. */
  #dirtySince: number | undefined;
  /** No write before; monotonic. */
  #notBefore: number;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: SnapshotWriterOptions) {
    this.query = options.query;
    this.#options = options;
    this.#notBefore = options.notBefore;
  }

  /** Whether the state has been written, or came from disk. */
  get isOnDisk(): boolean {
    const isWritten = this.#dirtySince === undefined && this.#writing === undefined;
    return isWritten && this.#resourceVersion !== '' && !this.#isClosed;
  }

  /** No write of this query before, except the last one of the process; as of performance.now(). */
  get notBefore(): number {
    return this.#notBefore;
  }

  /** Takes over what came from disk, without writing it. */
  adopt(changes: readonly Change[], resourceVersion: string, savedAt: number): void {
    this.#apply(changes, resourceVersion);
    this.#savedAt = savedAt;
  }

  /** Takes what the API server reported, up to a version. The first report is written even without changes. */
  update(changes: readonly Change[], resourceVersion: string): void {
    this.#apply(changes, resourceVersion);
    this.#savedAt = Date.now();
    if (this.#isClosed || (this.#state === 'live' && changes.length === 0)) return;
    this.#state = 'live';
    this.rewrite();
  }

  /** Writes what is not on disk now, ahead of the write bound, which later writes make up for. Never rejects. */
  async flush(): Promise<void> {
    await this.#writing;
    const ahead = this.#notBefore - performance.now();
    if (!this.#isClosed && this.#dirtySince !== undefined && ahead <= MAX_AHEAD_MS) {
      clearTimeout(this.#timer);
      this.#writeInBackground();
    }
    // Also the write that a concurrent flush has started.
    await this.#writing;
  }

  /** Writes the state again, without a change, if there is one. */
  rewrite(): void {
    if (this.#isClosed || this.#resourceVersion === '') return;
    this.#dirtySince ??= performance.now();
    this.#schedule();
  }

  /**
   * The last write of this query: what is not on disk, unless the write bound forbids it and the process goes on. So a
   * query that opens and closes often, as a node set does when a label flaps, wears the disk no more than another.
   * Never rejects.
   */
  async finish(isProcessEnding: boolean): Promise<void> {
    this.#state = 'closed';
    clearTimeout(this.#timer);
    await this.#writing;
    const mayWrite = isProcessEnding || performance.now() >= this.#notBefore;
    if (this.#dirtySince === undefined || !mayWrite) return;
    // A flush waits for it.
    this.#writing = this.#write();
    await this.#writing;
  }

  get #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #apply(changes: readonly Change[], resourceVersion: string): void {
    for (const change of changes) {
      if (change.type === 'DELETED') this.#objects.delete(change.key);
      else this.#objects.set(change.key, change.object);
    }
    this.#resourceVersion = resourceVersion;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    if (this.#dirtySince === undefined || this.#writing !== undefined) return;
    clearTimeout(this.#timer);
    const { quietMs, unrestMs } = this.#options.times;
    const now = performance.now();
    const due = Math.max(this.#notBefore, Math.min(now + quietMs, this.#dirtySince + unrestMs));
    const wait = Math.min(Math.max(0, due - now), MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#writeInBackground(), wait);
    this.#timer.unref();
  }

  #writeInBackground(): void {
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
      this.#schedule();
    });
  }

  async #write(): Promise<void> {
    const { save, times } = this.#options;
    this.#dirtySince = undefined;
    const objects = [...this.#objects.values()];
    const state = {
      resourceVersion: this.#resourceVersion,
      savedAt: this.#savedAt,
      objects,
    };
    try {
      const bytes = await save(state);
      const from = Math.max(this.#notBefore, performance.now());
      this.#notBefore = from + (bytes / times.writeBytesPerSecond) * 1000;
    } catch {
      // The state is still not on disk.
      this.#dirtySince ??= performance.now();
      this.#notBefore = performance.now() + times.retryMs;
    }
  }
}
