import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Change } from '../../filter/codec/facts/change.ts';
import { type Query, queryKey } from '../api/query.ts';
import type { RequestEnd } from '../api/request-end.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { QueryState } from './query-state.ts';
import { SnapshotFallback } from './snapshot-fallback.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import type { StoredState } from './snapshot-format.ts';

export interface SnapshotRestoreOptions {
  readonly folder: SnapshotFolder;
  readonly query: Query;
  readonly metadataOnly: boolean;
  readonly upstream: Pick<Upstream, 'serverState' | 'leaveServer'>;
  readonly logger: Logger;
  /**
   * Shows a snapshot; returns its objects as changes. Throws `Malformed`, `TooLarge` or `LimitExceeded`, and then shows
   * nothing of it.
   */
  readonly restore: (stored: StoredState) => readonly Change[];
  /** Called when no snapshot can be used and the API server has not answered since the start. */
  readonly onNothing?: (error: WrapperError) => void;
}

/**
 * The snapshot of one reflector: written as the API server reports changes, and shown when the API server is
 * unreachable at the start, or its first list is larger than a limit. That happens at most once, and only before the first list.
 */
export class SnapshotRestore {
  readonly #options: SnapshotRestoreOptions;
  readonly #state: QueryState;
  readonly #fallback: SnapshotFallback;
  /** A list has arrived, or none is waited for. */
  #isOver = false;
  #error: WrapperError | undefined;

  constructor(options: SnapshotRestoreOptions) {
    const { folder, query, metadataOnly, upstream } = options;
    const { graceMs } = folder;
    this.#options = options;
    this.#state = folder.writer.open((metadataOnly ? 'metadata ' : '') + queryKey(query));
    const onUnusable = (): void => void this.#useDisk();
    this.#fallback = new SnapshotFallback({ upstream, graceMs, onUnusable });
  }

  /** Reads the snapshot; returns its version, empty without one. The first list must not be older. */
  async load(): Promise<string> {
    const stored = await this.#options.folder.load(this.#state);
    return stored?.resourceVersion ?? '';
  }

  /** A request for the first list is sent. */
  listStarted(): void {
    this.#fallback.listStarted();
  }

  failed(error: WrapperError, end: RequestEnd): void {
    this.#error = error;
    this.#fallback.failed(end);
  }

  /** Writes changes that the API server reported, up to a version. From its first list on, the snapshot is only written. */
  update(changes: readonly Change[], resourceVersion: string): void {
    this.#end();
    this.#state.update(changes, resourceVersion);
  }

  close(): void {
    this.#end();
    this.#options.folder.writer.closeState(this.#state);
  }

  #end(): void {
    this.#fallback.end();
    this.#isOver = true;
  }

  /**
   * Reads the file again: the process that this one replaces may have shown a newer state than it had written at the
   * start.
   */
  async #useDisk(): Promise<void> {
    const { folder, logger, onNothing, upstream } = this.#options;
    const stored = await folder.loadNewest(this.#state);
    if (this.#isOver || (stored !== undefined && this.#show(stored))) return;
    logger.warn(`${this.#problem}, and there is no snapshot to use`);
    const why = this.#error?.message ?? 'the API server is unreachable';
    const problem = new WrapperError('Unreachable', `${why}, and there is no snapshot`);
    if (!upstream.serverState.answered) onNothing?.(problem);
  }

  get #problem(): string {
    return this.#error?.code === 'TooLarge'
      ? 'the first list is larger than a limit'
      : 'the API server is unreachable';
  }

  /** Returns whether the snapshot is shown now. */
  #show(stored: StoredState): boolean {
    const { folder, logger, restore } = this.#options;
    const { savedAt, resourceVersion: rv, objects } = stored;
    try {
      this.#state.adopt(restore(stored), rv, savedAt);
    } catch (error) {
      const problem = WrapperError.from(error, 'Malformed');
      const { code, message: err } = problem;
      if (code === 'Malformed') void folder.setAside(this.#state, problem);
      // The file itself is valid when it exceeds a limit, and the limit can be raised.
      else logger.error({ err }, 'the snapshot on disk is larger than a limit: it is not used');
      return false;
    }
    logger.warn(
      { saved: new Date(savedAt).toISOString(), rv, objects: objects.length },
      `${this.#problem}: the snapshot on disk is used`,
    );
    return true;
  }
}
