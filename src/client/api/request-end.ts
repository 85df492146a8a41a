/**
 * How a request to the API server ended. {@link REQUEST_ENDS} says what follows.
 *
 * - `answered`: with a list, or an event of a watch.
 * - `unreachable`: no response, or not all of it. Refused, reset, none in time, DNS, TLS, or our credentials cannot be
 *   read. Failover learns of a list, or a Status in its place, that does not go on, but not of one that is cut.
 * - `foreign`: something else has answered in place of the API server, such as a captive portal or a gateway.
 * - `relayRefused`: a relay does not serve this node or this request. The API server itself is asked.
 * - `mayBeAbsent`: the API server has no such collection, or something else has answered. Other queries show which.
 * - `absent`: there is no such collection, and it counts as empty.
 * - `interrupted`: by this process: the API server has another history, or another one is in use.
 * - `cut`: an open watch broke, or ended within 10 s without an event. Once is routine.
 * - `serverError`: 5xx with a Status.
 * - `overloaded`: 408, 425, 429. An API server sends 429 in plain text, so that anything may have sent it.
 * - `unauthorized`: 401, although the credentials were read again. The API server is there, but serves no query.
 * - `forbidden`: 403. An API server that starts answers so until its RBAC has loaded.
 * - `rejected`: 400, 404, 405, 406, 415, 422. The query itself is at fault, or there is no such collection.
 * - `refused`: any other Status, such as 409.
 * - `expired`: 410.
 * - `behind`: 504 ResourceVersionTooLarge, or a list older than it had to be.
 * - `wentBack`: the newest state is older than what was known: etcd was restored from an older copy.
 * - `outdated`: a cache has listed an older state from its own store: it has lost the API server.
 * - `malformed`: objects or events that do not parse.
 * - `tooLarge`: a list, an object or an event exceeds a limit.
 * - `noRoom`: a limit for memory is reached (maxViewBytes, maxListBytes of all lists).
 * - `internal`: a bug in a handler. What the API server sent shows nothing about it.
 */
export type RequestEnd = keyof typeof END_RULES;

/** How the API server fails all queries: no answer; errors of its own; or it rejects our identity. */
export type ServerFailure = 'unreachable' | 'misbehaving' | 'refusing';

/** What follows from an end, for each part that acts on it; `-`: nothing. */
export interface EndRule {
  /**
   * ServerState: the API server answers, or it fails all queries. A failure counts only if no watch is open, and if the
   * API server has answered nothing since the request was sent. `doubtful`: the state remains. While the API server
   * fails all queries, they wait together.
   */
  readonly server: 'answers' | ServerFailure | 'doubtful' | '-';
  /** Failover: the next server is used, now or after three in a row; `stays`: that row ends. */
  readonly failover: 'next' | 'counts' | 'stays' | '-';
  /**
   * SnapshotRestore, before the first list: whether the snapshot is shown if nothing else happens for the grace time,
   * or at once. After an answer it is not shown: it could show what the API server denies.
   */
  readonly snapshot: 'outage' | 'answer' | 'at once';
  /** RetryBackoff: how long the query waits by itself. */
  readonly wait: 'none' | 'short' | 'long' | 'patient' | 'costly';
  /** Reflector: what it sends next; `listKnown`: at the known version, because a relay has no newest state. */
  readonly next: 'same' | 'list' | 'listKnown' | 'listNewest' | 'listAfterSecond';
  /** The check of a watch's version: it is sent again, or a list is sent instead; `-`: the watch has failed. */
  readonly check: 'again' | 'list' | '-';
  /** ReflectorHealth: a line in the log once per cause, for the first in a row or from the second on. */
  readonly log: 'first' | 'second' | '-';
}

type Row = readonly [
  EndRule['server'],
  EndRule['failover'],
  EndRule['snapshot'],
  EndRule['wait'],
  EndRule['next'],
  EndRule['check'],
  EndRule['log'],
];

// biome-ignore format: a table
const END_RULES = {
  //             server         failover  snapshot   wait       next               check    log
  answered:     ['answers',     'stays',  'answer',  'none',    'same',            '-',     '-'],
  unreachable:  ['unreachable', 'next',   'outage',  'short',   'same',            '-',     'first'],
  foreign:      ['unreachable', 'counts', 'outage',  'short',   'same',            '-',     'first'],
  relayRefused: ['-',           'next',   'outage',  'short',   'same',            '-',     'first'],
  mayBeAbsent:  ['doubtful',    '-',      'outage',  'short',   'same',            '-',     '-'],
  absent:       ['-',           '-',      'answer',  'patient', 'listKnown',       '-',     '-'],
  interrupted:  ['-',           '-',      'answer',  'short',   'same',            '-',     '-'],
  cut:          ['-',           '-',      'outage',  'short',   'same',            '-',     'second'],
  serverError:  ['misbehaving', 'counts', 'outage',  'long',    'same',            'again', 'first'],
  overloaded:   ['-',           '-',      'outage',  'long',    'same',            'again', 'first'],
  unauthorized: ['refusing',    'stays',  'answer',  'long',    'same',            '-',     'first'],
  forbidden:    ['answers',     'stays',  'answer',  'patient', 'same',            'list',  'first'],
  rejected:     ['answers',     'stays',  'answer',  'patient', 'same',            'list',  'first'],
  refused:      ['answers',     'stays',  'answer',  'patient', 'same',            'list',  'first'],
  expired:      ['answers',     'stays',  'answer',  'none',    'list',            'list',  'first'],
  behind:       ['answers',     'stays',  'answer',  'none',    'listNewest',      '-',     'first'],
  wentBack:     ['answers',     'stays',  'answer',  'none',    'listNewest',      '-',     'first'],
  outdated:     ['unreachable', 'counts', 'outage',  'patient', 'same',            '-',     'first'],
  malformed:    ['-',           '-',      'answer',  'costly',  'listAfterSecond', '-',     'first'],
  tooLarge:     ['-',           '-',      'at once', 'costly',  'listAfterSecond', '-',     'first'],
  noRoom:       ['-',           '-',      'answer',  'costly',  'same',            '-',     'first'],
  internal:     ['-',           '-',      'answer',  'costly',  'listAfterSecond', '-',     'first'],
} as const satisfies Record<string, Row>;

/** The only table of what follows from each end. */
export const REQUEST_ENDS = Object.fromEntries(
  Object.entries(END_RULES).map(([end, [server, failover, snapshot, wait, next, check, log]]) => [
    end,
    { server, failover, snapshot, wait, next, check, log },
  ]),
) as Readonly<Record<RequestEnd, EndRule>>;
