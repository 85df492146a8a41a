import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Change } from '../../filter/codec/change.ts';
import { type Query, queryKey } from '../api/query.ts';
import type { Reachability } from '../upstream/reachability.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { SnapshotFallback } from './snapshot-fallback.ts';
import type { SnapshotStore } from './snapshot-store.ts';
import type { SnapshotWriter, StoredState } from './snapshot-writer.ts';

/**
 * What a reflector keeps on disk and, when the API server is out of reach at the start, gets back from there:
 * at most once, and only before the API server itself has told it anything.
 */
export class SnapshotRestore {
  readonly #keeper: SnapshotWriter;
  readonly #coldStart: SnapshotFallback;
  readonly #log: Logger;
  readonly #restore: (stored: StoredState) => void;
  readonly #onNothing: ((error: WrapperError) => void) | undefined;
  readonly #reach: Reachability;
  #stored: StoredState | undefined;
  #error: WrapperError | undefined;

  constructor(options: {
    readonly store: SnapshotStore;
    readonly query: Query;
    readonly metadataOnly: boolean;
    readonly upstream: Pick<Upstream, 'reach' | 'search'>;
    readonly logger: Logger;
    /** Tells the sinks what is on disk. Throws `Malformed` or `TooLarge`, and then has told nothing. */
    readonly restore: (stored: StoredState) => void;
    /** Called when there is nothing on disk that can be used and the API server has not answered since the start. */
    readonly onNothing?: (error: WrapperError) => void;
  }) {
    const { store, query, metadataOnly, upstream } = options;
    const { reach } = upstream;
    const kind = metadataOnly ? 'metadata ' : '';
    this.#keeper = store.open(kind + queryKey(query));
    const onCutOff = (): void => this.#cutOff();
    const search = (): Promise<boolean> => upstream.search();
    this.#coldStart = new SnapshotFallback({ reach, graceMs: store.graceMs, search, onCutOff });
    this.#log = options.logger;
    this.#restore = options.restore;
    this.#onNothing = options.onNothing;
    this.#reach = reach;
  }

  /** Reads what is on disk; returns its version, empty when there is none. The first list asks for no older one. */
  async load(): Promise<string> {
    this.#stored = await this.#keeper.load();
    return this.#stored?.resourceVersion ?? '';
  }

  /** The first list is asked for. */
  attempting(): void {
    this.#coldStart.attempting();
  }

  failed(error: WrapperError): void {
    this.#error = error;
    this.#coldStart.failed(error);
  }

  /** The API server has listed; from now on the disk is only written to. */
  listed(): void {
    this.#coldStart.end();
    this.#stored = undefined;
  }

  /** The sinks have been told what the API server said, up to a version. */
  told(changes: readonly Change[], resourceVersion: string): void {
    this.#keeper.told(changes, resourceVersion);
  }

  /** The sinks have been told what was on disk. */
  restored(changes: readonly Change[], resourceVersion: string): void {
    this.#keeper.adopt(changes, resourceVersion);
  }

  async close(): Promise<void> {
    this.#coldStart.end();
    await this.#keeper.close();
  }

  #cutOff(): void {
    const stored = this.#stored;
    this.#stored = undefined;
    if (stored !== undefined && this.#standsIn(stored)) return;
    if (stored === undefined) {
      this.#log.warn('the API server is out of reach, and there is no snapshot to stand in');
    }
    const why = this.#error?.message ?? 'the API server is out of reach';
    const problem = new WrapperError('Unreachable', `${why}, and there is no snapshot`);
    if (!this.#reach.answered) this.#onNothing?.(problem);
  }

  /** Whether what is on disk stands in now; if not, that has been logged. */
  #standsIn(stored: StoredState): boolean {
    try {
      this.#restore(stored);
    } catch (error) {
      const { code, message: err } = WrapperError.from(error, 'Malformed');
      // Nothing is wrong with a file that a bound, which can be raised again, does not let in.
      if (code !== 'TooLarge' && code !== 'LimitExceeded') void this.#keeper.distrust(err);
      else this.#log.error({ err }, 'the snapshot on disk is larger than a bound: it is not used');
      return false;
    }
    const { savedAt, resourceVersion: rv, objects } = stored;
    const saved = new Date(savedAt).toISOString();
    const said = 'the API server is out of reach: the snapshot on disk stands in, as it was then';
    this.#log.warn({ saved, rv, objects: objects.length }, said);
    return true;
  }
}
