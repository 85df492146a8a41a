import type { Change } from '../../filter/codec/change.ts';
import type { ObjectBytes } from '../../filter/codec/codec.ts';
import { withTimeout } from '../util/with-timeout.ts';

/** A state of one question as it came from disk. */
export interface StoredState {
  readonly resourceVersion: string;
  /** When it was written, in milliseconds since the epoch. */
  readonly savedAt: number;
  readonly objects: readonly ObjectBytes[];
}

export interface SnapshotWriterOptions {
  /** What is asked, with its encoding. */
  readonly query: string;
  readonly times: {
    readonly quietMs: number;
    readonly unrestMs: number;
    /** After a failure the disk is left alone for this long. */
    readonly retryMs: number;
    readonly writeBytesPerSecond: number;
    /** How long the close waits for the disk. */
    readonly closeMs: number;
  };
  /** No write before, but for the last one of the process; as of performance.now(). */
  readonly notBefore: number;
  /** Whether the process ends. */
  readonly isEnding: () => boolean;
  readonly load: () => Promise<StoredState | undefined>;
  /** Writes a state and says how many bytes it took; rejects when the disk fails, which is logged there. */
  readonly write: (state: Omit<StoredState, 'savedAt'>) => Promise<number>;
  readonly distrust: (problem: string) => Promise<void>;
  /** The disk was not waited for any longer when this was closed. */
  readonly onLate: (error: Error) => void;
  /** Told from when on this question may write again, as of performance.now(). */
  readonly onClose: (notBefore: number) => void;
}

/** A timer of more, in milliseconds, fires at once: writeBytesPerSecond may be a few bytes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Holds the raw objects of one question and writes them to disk: once nothing has changed for a while, at the
 * latest after a longer while, and never more in the long run than the disk is meant to bear.
 *
 * What is written is one state: the objects as they are after a change, with the version they were told for.
 */
export class SnapshotWriter {
  readonly query: string;
  readonly #options: SnapshotWriterOptions;
  readonly #objects = new Map<string, ObjectBytes>();
  #resourceVersion = '';
  /** The API server itself has spoken, so that there is something to write. */
  #live = false;
  /** When the first change came that is not on disk; monotonic. */
  #dirtySince: number | undefined;
  /** No write before; monotonic. */
  #notBefore: number;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #closed = false;

  constructor(options: SnapshotWriterOptions) {
    this.query = options.query;
    this.#options = options;
    this.#notBefore = options.notBefore;
  }

  /** The state on disk; undefined when there is none to be trusted. Never rejects. */
  load(): Promise<StoredState | undefined> {
    return this.#options.load();
  }

  /** A file that was whole, but whose objects do not parse, is set aside. */
  distrust(problem: string): Promise<void> {
    return this.#options.distrust(problem);
  }

  /** Takes over what came from disk; there is nothing to write. */
  adopt(changes: readonly Change[], resourceVersion: string): void {
    this.#apply(changes);
    this.#resourceVersion = resourceVersion;
  }

  /** Notes what the API server said, up to a version. The first time it is written even when nothing changed. */
  told(changes: readonly Change[], resourceVersion: string): void {
    this.#apply(changes);
    this.#resourceVersion = resourceVersion;
    if (this.#live && changes.length === 0) return;
    this.#live = true;
    this.touch();
  }

  /** Writes anew, though nothing has changed. */
  touch(): void {
    if (!this.#live || this.#closed) return;
    this.#dirtySince ??= performance.now();
    this.#schedule();
  }

  /**
   * Writes what is not on disk yet, unless it has been written often and the process goes on: a question that comes
   * and goes, as a node set where a label flaps, wears the disk out no more than another one. Never rejects.
   */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const { times, onLate, onClose } = this.#options;
    await withTimeout(times.closeMs, this.#flush()).catch(onLate);
    this.#objects.clear();
    onClose(this.#notBefore);
  }

  async #flush(): Promise<void> {
    await this.#writing;
    const mayWrite = this.#options.isEnding() || performance.now() >= this.#notBefore;
    if (this.#dirtySince !== undefined && mayWrite) await this.#write();
  }

  #apply(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.type === 'DELETED') this.#objects.delete(change.key);
      else this.#objects.set(change.key, change.object);
    }
  }

  #schedule(): void {
    if (this.#closed || this.#dirtySince === undefined || this.#writing !== undefined) return;
    clearTimeout(this.#timer);
    const { quietMs, unrestMs } = this.#options.times;
    const now = performance.now();
    const due = Math.max(this.#notBefore, Math.min(now + quietMs, this.#dirtySince + unrestMs));
    this.#timer = setTimeout(
      () => {
        this.#writing = this.#write().finally(() => {
          this.#writing = undefined;
          this.#schedule();
        });
      },
      Math.min(Math.max(0, due - now), MAX_TIMER_MS),
    );
    this.#timer.unref();
  }

  async #write(): Promise<void> {
    this.#dirtySince = undefined;
    const objects = [...this.#objects.values()];
    try {
      const bytes = await this.#options.write({ resourceVersion: this.#resourceVersion, objects });
      const rest = (bytes / this.#options.times.writeBytesPerSecond) * 1000;
      this.#notBefore = performance.now() + rest;
    } catch {
      // It was logged where it happened; the state is still not on disk.
      this.#dirtySince ??= performance.now();
      this.#notBefore = performance.now() + this.#options.times.retryMs;
    }
  }
}
