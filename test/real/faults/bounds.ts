/** What the wrapper must keep to while an API server fails, and after it. All bounds of the suite are here. */
export const BOUNDS = {
  /** Time until the view is right again after the API server answers, in milliseconds, over all faults. */
  rightAgainMs: { p50: 1_000, p90: 3_000, p99: 10_000 },
  /** The same for each single fault. */
  rightAgainHardMs: 30_000,
  /**
   * Until the view is right again while relays fail and the API server itself can be reached, in milliseconds: a relay
   * that is dead, one without the API server, and a slow one, which is waited for.
   */
  bypassMs: { dead: 6_000, silent: 60_000, slow: 40_000 },
  /**
   * Until a connection is closed that something on the way keeps open although it is dead, in milliseconds: over
   * HTTP/1.1 by the limit of a watch.
   */
  deadPeerMs: { h2: 36_000, 'http/1.1': 95_000 },
  /** Requests of one query, on average over any {@link REQUEST_WINDOW_MS}. */
  requestsPerSecond: 5,
  /**
   * Lists of one query that are answered in full: two, two more for each process that starts, and one more in each
   * period. A list that is refused costs the API server little, and counts as a request only.
   */
  lists: 2,
  listPeriodMs: 5_000,
  /** New connections, on average over any {@link REQUEST_WINDOW_MS}. HTTP/1.1 has one for each watch. */
  connectionsPerSecond: { h2: 5, 'http/1.1': 15 },
  /** Log lines of one fault and its recovery, for each minute that they last. */
  logLinesPerMinute: 10,
  /** Log lines of a process that starts or ends, in addition. */
  logLinesPerProcess: 15,
  /** CPU seconds of one fault and its recovery: a constant part and a part of the time that they last. */
  cpuSeconds: { constant: 1.5, share: 0.25, perProcess: 4 },
  /** Resident memory of the wrapper (its peak), in MB. The sources take more than the bundle. */
  residentMB: { bundle: 160, sources: 260 },
  /** Open descriptors after recovery. */
  descriptors: 80,
  /** /readyz fails within this time in a fault in which the API server is unreachable, in milliseconds. */
  unreadyMs: {
    /** Connections or requests fail: 10 s of grace, and the wait for the next attempt. */
    failing: { h2: 20_000, 'http/1.1': 20_000 },
    /** Nothing comes back: 35 s until a dead peer is noticed, and 10 s of grace. */
    silent: { h2: 48_000, 'http/1.1': 107_000 },
  },
  /** /readyz answers 200 within this time after the view is right again, in milliseconds. */
  readyAgainMs: 10_000,
} as const;

/** A view that is still wrong after this stays wrong. */
export const GIVE_UP_MS = 150_000;

/** The setting `maxListBytes` of the wrapper under test. */
export const MAX_LIST_BYTES = 16 * 2 ** 20;

/** Rates are measured over a sliding window of this length. */
export const REQUEST_WINDOW_MS = 5_000;

/** What is checked, and the sentence that each check proves. */
export const CHECKS = {
  rightAgain: 'no fault leaves the view wrong for longer than the hard bound',
  view: 'a kept client never has a state that the cluster never had, or that the policy forbids',
  watch: 'the events of a watch are in order and fit what the client has',
  requests: 'no query sends more requests than the bound while an API server misbehaves',
  lists: 'no query lists more often than the bound while an API server misbehaves',
  connections: 'no more connections are opened than the bound',
  log: 'no fault writes more log lines than the bound',
  cpu: 'no fault costs more CPU than the bound',
  memory: 'the wrapper never needs more memory than the bound',
  descriptors: 'no descriptors are left open',
  deadPeer: 'a connection whose peer has died without a word is closed within the bound',
  readyz: '/readyz reports that the API server is unreachable, and recovers',
} as const;

export type Check = keyof typeof CHECKS;

/** A bound that was broken. */
export interface Problem {
  readonly check: Check;
  readonly what: string;
}
