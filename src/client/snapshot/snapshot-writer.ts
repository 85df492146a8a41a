import { QueryState } from './query-state.ts';

export interface SnapshotWriterOptions {
  /** A snapshot is written once nothing has changed for this long, in milliseconds; default 1,000. */
  readonly quietMs?: number;
  /** … or at the latest this long after the first change, in milliseconds; default 10,000. */
  readonly unrestMs?: number;
  /** Pause after a failed write, in milliseconds; default 60,000. */
  readonly retryMs?: number;
  /** What one query may write in the long run, so that many changes do not wear out flash memory. */
  readonly writeBytesPerSecond: number;
  /**
   * Takes a state and writes it. Resolves with the bytes it took, 0 if the disk has a newer one, or with undefined if
   * it failed, which has been logged. Never rejects.
   */
  readonly save: (state: QueryState) => Promise<number | undefined>;
}

/** How often in a quiet time it is decided what is due. */
const TICKS = 4;
/** A flush may be this far ahead of the write bound, in milliseconds; the writes after it wait for longer. */
const MAX_AHEAD_MS = 600_000;

/**
 * Decides when the state of each query is written: after a quiet time without changes, at the latest after a longer
 * time, and never more in the long run than `writeBytesPerSecond`.
 *
 * States wait in one queue, and are taken when they are written. So a disk that hangs costs no memory.
 */
export class SnapshotWriter {
  /** The states of the open queries. */
  readonly states = new Set<QueryState>();
  readonly #options: SnapshotWriterOptions;
  /** When a query may write again; monotonic. It outlasts the query, which may open and close often. */
  readonly #notBefore = new Map<string, number>();
  /** Set while something is to be written. */
  #timer: NodeJS.Timeout | undefined;
  /** Resolves when nothing is left in the queue: each file that hangs blocks one of the four threads of Node. */
  #queue: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: SnapshotWriterOptions) {
    this.#options = options;
  }

  /** Starts to keep the state of a query, until {@link closeState}. */
  open(query: string): QueryState {
    const state = new QueryState(query, () => this.#wake());
    this.states.add(state);
    return state;
  }

  /**
   * Writes a state once more, unless the write bound forbids it. So a query that opens and closes often, as a node set
   * does when a label flaps, wears the disk no more than another.
   */
  closeState(state: QueryState): void {
    this.states.delete(state);
    if (this.#mayWrite(state)) void this.#write([state]);
  }

  /** Uses the disk when nobody else does. */
  async inTurn<T>(use: () => Promise<T>): Promise<T> {
    const used = this.#queue.then(use);
    const ignore = (): void => {};
    // Without the result, which the queue would keep in memory.
    this.#queue = used.then(ignore, ignore);
    return await used;
  }

  /** Writes what is not on disk, ahead of the write bound, which later writes make up for. Never rejects. */
  async flush(): Promise<void> {
    await this.#write([...this.states].filter((state) => this.#mayWrite(state, MAX_AHEAD_MS)));
  }

  /** Writes the state of a query at the next turn, whatever the write bound. Never rejects. */
  async writeAhead(query: string): Promise<void> {
    await this.#write([...this.states].filter((state) => state.query === query));
  }

  /** Writes what is not on disk, and nothing after that. Never rejects. */
  async close(): Promise<void> {
    const written = this.#write([...this.states]);
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await written;
  }

  #wake(): void {
    const { quietMs = 1_000 } = this.#options;
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.#writeDue(), quietMs / TICKS).unref();
  }

  async #writeDue(): Promise<void> {
    const { quietMs = 1_000, unrestMs = 10_000 } = this.#options;
    const now = performance.now();
    const due = [...this.states].filter((state) => {
      const { since = now, changedAt = now } = state.unwritten ?? {};
      return (changedAt + quietMs <= now || since + unrestMs <= now) && this.#mayWrite(state);
    });
    await this.#write(due);
    this.#timer = undefined;
    if ([...this.states].some(({ unwritten }) => unwritten !== undefined)) this.#wake();
  }

  /** Writes states that are not on disk when their turn comes. */
  #write(states: readonly QueryState[]): Promise<unknown> {
    if (!this.#isClosed) for (const state of states) void this.inTurn(() => this.#save(state));
    return this.#queue;
  }

  async #save(state: QueryState): Promise<void> {
    if (state.unwritten === undefined) return;
    const { save, writeBytesPerSecond, retryMs = 60_000 } = this.#options;
    const bytes = await save(state);
    if (bytes === undefined) state.rewrite();
    const now = performance.now();
    const waitMs = bytes === undefined ? retryMs : (bytes / writeBytesPerSecond) * 1000;
    for (const [query, until] of this.#notBefore) if (until <= now) this.#notBefore.delete(query);
    this.#notBefore.set(state.query, (this.#notBefore.get(state.query) ?? now) + waitMs);
  }

  #mayWrite({ query }: QueryState, aheadMs = 0): boolean {
    return (this.#notBefore.get(query) ?? 0) <= performance.now() + aheadMs;
  }
}
