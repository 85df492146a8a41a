import type { ObjectBytes } from '../../filter/codec/codec.ts';
import type { Change } from '../../filter/objects/change.ts';
import type { StoredState } from './snapshot-format.ts';

/**
 * The raw objects of one query, and whether they are on disk. What is written is always one state: the objects after a
 * change, with the version of that change.
 */
export class QueryState {
  /** Query with its encoding. */
  readonly query: string;
  /** Why it is not on disk: the last error. */
  error: NodeJS.ErrnoException | undefined;
  /** When the first and the last change came that are not on disk; monotonic. Undefined: all are. */
  unwritten: { readonly since: number; readonly changedAt: number } | undefined;
  readonly #onUnwritten: () => void;
  readonly #objects = new Map<string, ObjectBytes>();
  #resourceVersion = '';
  /** When the API server reported it, in milliseconds since the epoch. */
  #savedAt = 0;
  /** The same by a clock that is never set; see {@link StoredState}. */
  #reportedAt: number | undefined;
  /** Whether the API server itself has reported it. */
  #isLive = false;

  /** @param onUnwritten called when there is something to write */
  constructor(query: string, onUnwritten: () => void) {
    this.query = query;
    this.#onUnwritten = onUnwritten;
  }

  /** Whether the state has been written, or came from disk. */
  get isOnDisk(): boolean {
    return this.unwritten === undefined && this.#resourceVersion !== '';
  }

  /** Takes over what came from disk, without writing it. */
  adopt(changes: readonly Change[], stored: Omit<StoredState, 'objects'>): void {
    for (const change of changes) {
      if (change.type === 'DELETED') this.#objects.delete(change.key);
      else this.#objects.set(change.key, change.object);
    }
    this.#resourceVersion = stored.resourceVersion;
    this.#savedAt = stored.savedAt;
    this.#reportedAt = stored.reportedAt;
  }

  /** Takes what the API server reported, up to a version. The first report is written even without changes. */
  update(changes: readonly Change[], resourceVersion: string): void {
    const reportedAt = Number(process.hrtime.bigint() / 1000n);
    this.adopt(changes, { resourceVersion, savedAt: Date.now(), reportedAt });
    if (this.#isLive && changes.length === 0) return;
    this.#isLive = true;
    this.rewrite();
  }

  /** Lets the state be written, without a change, if there is one. */
  rewrite(): void {
    if (this.#resourceVersion === '') return;
    const changedAt = performance.now();
    this.unwritten = { since: this.unwritten?.since ?? changedAt, changedAt };
    this.#onUnwritten();
  }

  /** Takes what is written now. */
  take(): StoredState {
    this.unwritten = undefined;
    return {
      resourceVersion: this.#resourceVersion,
      savedAt: this.#savedAt,
      reportedAt: this.#reportedAt,
      objects: [...this.#objects.values()],
    };
  }
}
