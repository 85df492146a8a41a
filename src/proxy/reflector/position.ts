import { parseVersion } from '../../filter/view/version-allocator.ts';

/**
 * Where a reflector is in the history of its collection. Each function below is one transition.
 *
 *     start, or version of a snapshot
 *        │                  410, or a second unusable response
 *        ▼                ┌──────────────────────────────────────┐
 *      LIST v ◀───────────┘                                      │
 *        │  └─ 410 again ──▶ LIST newest ◀── behind v, absent ── │
 *        ▼ listed               │ listed                         │
 *      WATCH v, reached ◀───────┘                                │
 *        │ sent         ▲ ended in its time                      │
 *        ▼              │                                        │
 *      WATCH v, reached unknown ── every event moves v ──────────┘
 */
export interface Position {
  /** The handlers have been notified of every change up to this version; empty: of nothing yet. */
  readonly notified: string;
  readonly next: NextRequest;
}

/** What the reflector sends next. A watch begins at the version that was notified last. */
export type NextRequest =
  | {
      readonly verb: 'list';
      /** `0`: any state; a version: that one or a newer one; empty: the newest. */
      readonly version: string;
    }
  | {
      readonly verb: 'watch';
      /** The API server is known to have reached the version: it has just listed, or ended a watch in its time. */
      readonly reached: boolean;
    };

/** Before the first list. @param snapshotVersion version on disk, which the list must not be older than; or `0` */
export function initialPosition(snapshotVersion: string): Position {
  return { notified: '', next: { verb: 'list', version: snapshotVersion } };
}

/** The handlers were notified of a snapshot. Only a list shows whether it has the same history. */
export function restored({ next }: Position, version: string): Position {
  return { notified: version, next };
}

/** The handlers were notified of a list. */
export function listed(version: string): Position {
  return { notified: version, next: { verb: 'watch', reached: true } };
}

/** A watch is sent, or has brought events up to this version. */
export function watching(version: string): Position {
  return { notified: version, next: { verb: 'watch', reached: false } };
}

/** The API server ended a watch. @param inTime not sooner than was agreed */
export function watchEnded({ notified }: Position, inTime: boolean): Position {
  return { notified, next: { verb: 'watch', reached: inTime } };
}

/** Lists what is known or newer: a list at "any" may go back in time where there are several API servers. */
export function relist({ notified, next }: Position): Position {
  return { notified, next: next.verb === 'list' ? next : { verb: 'list', version: notified } };
}

/** The API server no longer has the version (410). When it does not have it for a list either, the newest is listed. */
export function expired(position: Position): Position {
  return position.next.verb === 'list' ? listNewest(position) : relist(position);
}

/** The API server is behind the version, or does not have the collection: only its newest state helps. */
export function listNewest({ notified }: Position): Position {
  return { notified, next: { verb: 'list', version: '' } };
}

/** Whether a list went back in time, as after etcd was restored from a backup. */
export function wentBack({ notified, next }: Position, listedVersion: string): boolean {
  return next.verb === 'list' && next.version === '' && isOlder(listedVersion, notified);
}

/** Whether a version is older than another. Versions that are not decimal cannot be compared: false. */
function isOlder(version: string, than: string): boolean {
  const [a, b] = [parseVersion(version), parseVersion(than)];
  return a !== undefined && b !== undefined && a < b;
}
