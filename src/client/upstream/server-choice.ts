import { REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';

/** Which of several servers is used, and what is remembered of it. Times are monotonic, in milliseconds. */
export interface ServerChoice {
  /** By preference; at least one. */
  readonly servers: readonly string[];
  /** The API servers while only relays are tried, because these may be booting too; empty: they are in `servers`. */
  readonly held: readonly string[];
  /** One of `servers`. */
  readonly inUse: string;
  readonly since: number;
  /** Whether it is used because a preferred server answers again. */
  readonly isReturn: boolean;
  /** Its failures in a row that count. */
  readonly failures: number;
  /** Servers that were left since one answered. */
  readonly left: number;
  /** How many times `returnMs` the next return waits. */
  readonly returnFactor: number;
}

export type ServerEvent =
  /** A request that was sent at `since` has ended, or its watch has brought events. */
  | {
      readonly type: 'ended';
      readonly server: string;
      readonly since: number;
      readonly end: RequestEnd;
    }
  /** Nothing has arrived since then, though a query waits. */
  | { readonly type: 'silent'; readonly since: number }
  /** A relay that has been in use since then, or longer, brings a query nothing. */
  | { readonly type: 'unserved'; readonly since: number }
  /** A list has arrived from a preferred server. */
  | { readonly type: 'listed'; readonly server: string }
  /** There are other servers now; `held` as in ServerChoice, default: none. */
  | {
      readonly type: 'replaced';
      readonly servers: readonly string[];
      readonly held?: readonly string[];
    }
  /** Relays were waited for long enough. The one in use may have a connection, and be about to answer. */
  | { readonly type: 'waited'; readonly isConnected: boolean };

/** When an event happens, and how long a return waits at least. */
export interface ChoiceTimes {
  readonly now: number;
  readonly returnMs: number;
}

/** After so many 5xx, or responses that are not of an API server, in a row the next server is used. */
export const MAX_SERVER_ERRORS = 3;
const MAX_RETURN_FACTOR = 16;

export function initialChoice(
  servers: readonly string[],
  held: readonly string[] = [],
): ServerChoice {
  const [inUse = ''] = servers;
  const since = Number.NEGATIVE_INFINITY;
  return { servers, held, inUse, since, isReturn: false, failures: 0, left: 0, returnFactor: 1 };
}

/**
 * The next choice:
 *
 *     preferred ── no answer, 3 failures in a row, silent, unserved ──▶ next ── the same ──▶ next … ──▶ preferred
 *         ▲                                                              │
 *         └──────────────── a list from it has arrived ──────────────────┘
 *
 * At the start of a site that boots, API servers may be held back:
 *
 *     relays only, in turn ── one has answered ──────────────────────▶ preferred: the one that has answered
 *                          ├─ waited, and there is no connection ────▶ the first API server
 *                          └─ waited, and one is only slow ──────────▶ that one; the next is as above
 *
 * A server is left once, whoever finds it at fault: a failure of another one, or of a time before it was used, changes
 * nothing. If the server of a return is left soon, the next return takes twice as long.
 */
export function nextChoice(
  choice: ServerChoice,
  event: ServerEvent,
  times: ChoiceTimes,
): ServerChoice {
  const { servers, held, inUse, since, failures, left } = choice;
  switch (event.type) {
    case 'ended': {
      if (event.server !== inUse) return choice;
      const { failover } = REQUEST_ENDS[event.end];
      // Also by a watch that was open before the server was left.
      if (failover === 'stays') return { ...releaseHeld(choice), failures: 0, left: 0 };
      if (failover === '-' || event.since < since) return choice;
      const isOver = failover === 'next' || failures + 1 >= MAX_SERVER_ERRORS;
      return isOver ? useNext(choice, times) : { ...choice, failures: failures + 1 };
    }
    case 'silent':
      // A relay that boots is silent.
      if (held.length > 0) return choice;
      return since <= event.since && servers.length - left > 1 ? useNext(choice, times) : choice;
    case 'unserved':
      return since <= event.since ? useNext(choice, times) : choice;
    case 'listed':
      return { ...choice, inUse: event.server, since: times.now, isReturn: true, failures: 0 };
    case 'replaced': {
      const [first = ''] = event.servers;
      const isKnown = event.servers.includes(inUse);
      const replaced = isKnown ? {} : { inUse: first, since: times.now, failures: 0, left: 0 };
      // A server that nobody has tried is no reason to wait longer.
      const isNew = event.servers.some((each) => !servers.includes(each) && !held.includes(each));
      const returnFactor = isNew ? 1 : choice.returnFactor;
      return {
        ...choice,
        servers: event.servers,
        held: event.held ?? [],
        returnFactor,
        ...replaced,
      };
    }
    case 'waited': {
      const [first] = held;
      if (first === undefined) return choice;
      const moved = event.isConnected ? {} : { inUse: first, since: times.now, failures: 0 };
      return { ...releaseHeld(choice), left: 0, ...moved };
    }
  }
}

function releaseHeld(choice: ServerChoice): ServerChoice {
  const { servers, held } = choice;
  return held.length === 0 ? choice : { ...choice, servers: [...servers, ...held], held: [] };
}

/** The servers in the order in which they are tried, the one in use first. */
export function inOrder({ servers, inUse }: ServerChoice): readonly string[] {
  const index = Math.max(0, servers.indexOf(inUse));
  return [...servers.slice(index), ...servers.slice(0, index)];
}

/** Uses the next server of the list, if there is another one. */
function useNext(choice: ServerChoice, { now, returnMs }: ChoiceTimes): ServerChoice {
  const { since, isReturn, left, returnFactor } = choice;
  const [, to] = inOrder(choice);
  if (to === undefined) return { ...choice, failures: choice.failures + 1 };
  // Only the first after a return counts: those after it may all be full, or gone.
  const isSoon = now - since < returnMs * returnFactor;
  const later = isSoon ? Math.min(2 * returnFactor, MAX_RETURN_FACTOR) : 1;
  return {
    ...choice,
    inUse: to,
    since: now,
    isReturn: false,
    failures: 0,
    left: left + 1,
    returnFactor: isReturn ? later : returnFactor,
  };
}
