import type { Logger } from 'pino';
import type { WrapperError } from '../../errors.ts';
import type { ObjectBytes, ObjectMeta } from '../../filter/codec/codec.ts';
import type { ChangeHandler } from '../../filter/objects/change.ts';
import type { VersionAllocator } from '../../filter/view/version-allocator.ts';
import type { Clock } from '../../util/clock.ts';
import type { Query } from '../api/query.ts';
import type { ReadLimits } from '../api/read-limits.ts';
import type { SnapshotFolder } from '../snapshot/snapshot-folder.ts';
import type { OwnReadMemory, ReadMemory } from '../system/read-memory.ts';
import type { Upstream } from '../upstream/upstream.ts';

export interface ReflectorOptions<Facts extends ObjectMeta> {
  readonly upstream: Pick<
    Upstream,
    | 'request'
    | 'address'
    | 'serverState'
    | 'leaveServer'
    | 'inUseSince'
    | 'relaySince'
    | 'relayBootsUntil'
    | 'leaveRelay'
    | 'waitsForRelays'
    | 'reportNoSnapshot'
  >;
  readonly query: Query;
  /** Reads the facts of an object; throws `Malformed`. */
  readonly decode: (object: ObjectBytes) => Facts;
  /** Notified of each change. */
  readonly handler: ChangeHandler<Facts>;
  readonly versions: VersionAllocator;
  readonly logger: Logger;
  /**
   * Called when the API server refused (403) three times in a row, or has been unreachable since the start of the
   * process and there is no snapshot (`Unreachable`). Called with undefined once a watch is open.
   */
  readonly onRefused?: (error: WrapperError | undefined) => void;
  /**
   * Called at each failure before the first list: with the error when the API server rejects the query itself, else
   * with undefined. Called with undefined when the list arrives.
   */
  readonly onUnanswerable?: (error: WrapperError | undefined) => void;
  /**
   * A collection that does not exist (404) counts as empty while another query is watched. It is requested again, in
   * the end every half a minute: a custom resource may be defined later, or never.
   */
  readonly absentIsEmpty?: boolean;
  /** Where the last state is kept over a restart; default: nowhere. */
  readonly snapshots?: SnapshotFolder;
  /** Whether only other clients than kube-proxy read it; default: no. */
  readonly forOthers?: boolean;
  readonly readLimits: ReadLimits;
  /** Accounts for memory before it is used. What it throws is a failure like any other. Default: no account. */
  readonly memory?: ReadMemory;
  /** In [0, 1); default: `Math.random`. */
  readonly random?: () => number;
  /** Default: the machine's monotonic clock. */
  readonly clock?: Clock;
  /** Called with the time from the arrival of events until the handler has returned, in seconds. */
  readonly onHandled?: (seconds: number) => void;
}

/** What all reflectors of this process share. */
export interface ReflectorContext
  extends Pick<
    ReflectorOptions<ObjectMeta>,
    'upstream' | 'versions' | 'logger' | 'readLimits' | 'snapshots'
  > {
  /** The account of the lists of the wrapper itself and of kube-proxy. */
  readonly ownMemory?: OwnReadMemory;
}
