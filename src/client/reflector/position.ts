/**
 * Where a reflector is, and in which history of the API server. Each function below is one transition.
 *
 *     start, or version of a snapshot
 *        │                  410, absent, or a second unusable response
 *        ▼                ┌──────────────────────────────────────┐
 *      LIST v ◀───────────┘                                      │
 *        │  └─ 410 again ──▶ LIST newest ◀────────── behind v ── │
 *        ▼ listed               │ listed                         │
 *      WATCH v, reached here ◀──┘                                │
 *        │ sent         ▲ ended in its time                      │
 *        ▼              │                                        │
 *      WATCH v, reached unknown ── every event moves v ──────────┤
 *        │ 504 to the check     ▲ an event moves v               │
 *        ▼                      │                                │
 *      WATCH v, lags since ─────┴── for 15 minutes ── behind v ──┘
 *     any state ── the API server has another history ──▶ LIST newest
 */
export interface Position {
  /** The handler has been notified of every change up to this version; empty: of nothing yet. */
  readonly notified: string;
  /** The history that the objects belong to; see ServerHistory. */
  readonly history: number;
  readonly next: NextRequest;
}

/** What the reflector sends next. A watch begins at the version that was notified last. */
export type NextRequest =
  | {
      readonly verb: 'list';
      /** `0`: any state; a version: this version or a newer one; empty: the newest. */
      readonly version: string;
    }
  | {
      readonly verb: 'watch';
      /**
       * `host:port` of the API server that is known to have reached the version: it has just listed, or ended a watch
       * in its time. Undefined: none. Any other API server may be behind the version.
       */
      readonly reachedAt: string | undefined;
      /** Since when a cache of an API server lags behind the version; monotonic. Undefined: none is known to. */
      readonly lagsSince: number | undefined;
    };

/** Before the first list. @param snapshotVersion version on disk, which the list must not be older than; or `0` */
export function initialPosition(snapshotVersion: string): Position {
  return { notified: '', history: 0, next: { verb: 'list', version: snapshotVersion } };
}

/** The handler was notified of a snapshot. Only a list shows whether it has the same history. */
export function restored(position: Position, version: string): Position {
  return { ...position, notified: version };
}

/**
 * The handler was notified of all up to this version, and a watch is next.
 *
 * @param reachedAt see {@link NextRequest}
 */
export function watchFrom(notified: string, history: number, reachedAt?: string): Position {
  return { notified, history, next: { verb: 'watch', reachedAt, lagsSince: undefined } };
}

/** The watch is sent, or has ended. @param reachedAt see {@link NextRequest} */
export function reached(position: Position, reachedAt: string | undefined): Position {
  const { next } = position;
  return next.verb === 'list' ? position : { ...position, next: { ...next, reachedAt } };
}

/** The cache of an API server lags behind the version of the watch: etcd is asked for its history. */
export function lagging(position: Position, now: number): Position {
  const { next } = position;
  return next.verb === 'list' ? position : { ...position, next: { ...next, lagsSince: now } };
}

/** Lists what is known or newer: a list at "any" may go back in time where there are several API servers. */
export function relist(position: Position): Position {
  const { notified, next } = position;
  return next.verb === 'list'
    ? position
    : { ...position, next: { verb: 'list', version: notified } };
}

/** The API server no longer has the version (410). When it does not have it for a list either, the newest is listed. */
export function expired(position: Position): Position {
  return position.next.verb === 'list' ? listNewest(position) : relist(position);
}

/** The API server is behind the version: only its newest state helps. */
export function listNewest(position: Position): Position {
  return { ...position, next: { verb: 'list', version: '' } };
}

/** The request itself was refused. If it named a version, that may be why: it is never requested again. */
export function refused(position: Position): Position {
  const { next } = position;
  return next.verb === 'list' && next.version === '0' ? position : listNewest(position);
}

/** The API server has this history now. If the position belongs to another one, only the newest state helps. */
export function inHistory(position: Position, history: number): Position {
  return position.history === history ? position : listNewest(position);
}
