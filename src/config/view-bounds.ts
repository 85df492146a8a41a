import type { LogBounds } from '../filter/view/event-log.ts';

/** How much of the past each view keeps, and for how long. */
export interface ViewBounds {
  /** What the log of a view keeps of the last minutes at least, for clients that fall behind. */
  readonly window: LogBounds;
  /** A view without clients is closed after this time, in milliseconds. */
  readonly idleViewMs: number;
  /** Time between the bookmarks of a watch, in milliseconds. */
  readonly bookmarkMs: number;
  /** See FailoverOptions. */
  readonly returnMs?: number;
}

declare global {
  /**
   * Set by tests that start the whole program: they cannot wait for minutes, or for thousands of changes. They run the
   * bundle, which no option of a function can reach. A setting or a variable would be there for users, too; this needs
   * code that runs in the process before it (`--import`).
   */
  var kpwTestViewBounds: ViewBounds | undefined;
}

/**
 * 10,000 changes are minutes of a large cluster: a client that is away for client-go's longest back-off (60 s)
 * continues where it was. A client returns within five minutes, or not soon. A bookmark once a minute is
 * kube-apiserver's own pace.
 */
export const VIEW_BOUNDS: ViewBounds = globalThis.kpwTestViewBounds ?? {
  window: { entries: 10_000, bytes: 32 * 1024 * 1024 },
  idleViewMs: 300_000,
  bookmarkMs: 60_000,
};
