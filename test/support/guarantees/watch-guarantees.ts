/**
 * Checks the six watch guarantees of etcd (https://etcd.io/docs/latest/learning/api_guarantees) over everything that
 * the clients of one query received. Like etcd's robustness tests, it runs afterwards and uses nothing of src.
 */

/** An object as a client got it. */
export interface Seen {
  readonly version: bigint;
  /** A hash of the object without its version. */
  readonly digest: string;
}

/** What a client received, in order. `log` names the process that served it: each has a log with its own versions. */
export type ClientRecord =
  | {
      readonly kind: 'list';
      readonly log: string;
      readonly version: bigint;
      readonly items: ReadonlyMap<string, Seen>;
    }
  /** A watch was accepted from this version; a streaming list is recorded as a list, then this. */
  | { readonly kind: 'watch'; readonly log: string; readonly from: bigint }
  | {
      readonly kind: 'event';
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
      readonly key: string;
      readonly object: Seen;
    }
  | { readonly kind: 'bookmark'; readonly version: bigint }
  /** The stream ended, for any reason. */
  | { readonly kind: 'end' };

export type Guarantee = 'ordered' | 'unique' | 'reliable' | 'atomic' | 'resumable' | 'bookmarkable';

export interface Violation {
  readonly guarantee: Guarantee;
  readonly client: string;
  readonly what: string;
}

/** Objects that change together, and the states in which they may be seen together. */
export interface Atom {
  readonly keys: readonly string[];
  /** Digests in the order of the keys; an absent object is ''. */
  readonly states: readonly (readonly string[])[];
}

type Event = Extract<ClientRecord, { kind: 'event' }>;

/** A period in which a client followed one log without a gap. */
interface Session {
  readonly client: string;
  readonly log: string;
  /** The state at the start; undefined: a watch from a version of which the client had no state. */
  readonly initial: ReadonlyMap<string, Seen> | undefined;
  readonly from: bigint;
  /** Events and bookmarks. */
  readonly steps: (Event | Extract<ClientRecord, { kind: 'bookmark' }>)[];
  upTo: bigint;
}

/** Returns all violations. */
export function checkGuarantees(
  clients: ReadonlyMap<string, readonly ClientRecord[]>,
  atoms: readonly Atom[] = [],
): Violation[] {
  const violations: Violation[] = [];
  const report = (guarantee: Guarantee, client: string, what: string): void => {
    violations.push({ guarantee, client, what });
  };
  const sessions = [...clients].flatMap(([client, records]) => sessionsOf(client, records, report));
  for (const log of new Set(sessions.map((session) => session.log))) {
    const ofLog = sessions.filter((session) => session.log === log);
    const events = mergeEvents(ofLog, report);
    for (const session of ofLog) {
      checkReliable(session, events, report);
      checkResumable(session, ofLog, report);
      checkAtomic(session, atoms, report);
    }
    checkSameStates(ofLog, report);
  }
  return violations;
}

type Report = (guarantee: Guarantee, client: string, what: string) => void;

/** Splits what a client received into sessions. Also checks the order and repeats. */
function sessionsOf(client: string, records: readonly ClientRecord[], report: Report): Session[] {
  const sessions: Session[] = [];
  let state: ReadonlyMap<string, Seen> | undefined;
  let session: Session | undefined;
  for (const record of records) {
    if (record.kind === 'list') {
      state = record.items;
      session = open(client, record.log, state, record.version);
      sessions.push(session);
    } else if (record.kind === 'watch') {
      const continues = session?.log === record.log && session.upTo === record.from;
      if (!continues || session === undefined) {
        session = open(client, record.log, undefined, record.from);
        sessions.push(session);
      }
    } else if (record.kind !== 'end') {
      if (session === undefined) report('ordered', client, 'an event before any list or watch');
      else take(session, record, report);
    }
  }
  return sessions;
}

function open(
  client: string,
  log: string,
  initial: ReadonlyMap<string, Seen> | undefined,
  from: bigint,
): Session {
  return { client, log, initial, from, steps: [], upTo: from };
}

function take(session: Session, record: Session['steps'][number], report: Report): void {
  const { client, steps } = session;
  const version = record.kind === 'event' ? record.object.version : record.version;
  const bookmark = steps.findLast(({ kind }) => kind === 'bookmark');
  if (record.kind === 'event' && version <= session.upTo) {
    const repeated = steps.some((step) => step.kind === 'event' && step.object.version === version);
    const late = bookmark?.kind === 'bookmark' && version <= bookmark.version;
    const guarantee = repeated ? 'unique' : late ? 'bookmarkable' : 'ordered';
    report(guarantee, client, `${record.type} ${record.key} at ${version} after ${session.upTo}`);
  }
  if (record.kind === 'bookmark' && version < session.upTo) {
    report('bookmarkable', client, `bookmark ${version} after ${session.upTo}`);
  }
  steps.push(record);
  if (version > session.upTo) session.upTo = version;
}

/** All events of a log that any client received, by version. */
function mergeEvents(sessions: readonly Session[], report: Report): ReadonlyMap<bigint, Event> {
  const events = new Map<bigint, Event>();
  for (const { client, steps } of sessions) {
    for (const step of steps) {
      if (step.kind !== 'event') continue;
      const { version } = step.object;
      const known = events.get(version) ?? step;
      const same =
        known.key === step.key &&
        known.type === step.type &&
        known.object.digest === step.object.digest;
      if (!same) report('unique', client, `another event at ${version} than others saw`);
      events.set(version, known);
    }
  }
  return events;
}

function checkReliable(session: Session, events: ReadonlyMap<bigint, Event>, report: Report): void {
  const own = new Set(
    session.steps.map((step) => (step.kind === 'event' ? step.object.version : -1n)),
  );
  for (const [version, { type, key }] of events) {
    if (version <= session.from || version > session.upTo || own.has(version)) continue;
    report('reliable', session.client, `${type} ${key} at ${version} is missing`);
  }
}

/** A watch may continue only from a version that the same log has sent. */
function checkResumable(session: Session, sessions: readonly Session[], report: Report): void {
  if (session.initial !== undefined) return;
  const given = sessions.some(
    ({ initial, from, steps }) =>
      (initial !== undefined && from === session.from) ||
      steps.some((step) =>
        step.kind === 'event'
          ? step.object.version === session.from
          : step.version === session.from,
      ),
  );
  if (!given) report('resumable', session.client, `a watch from ${session.from} was accepted`);
}

/** The states a session passes through at a list and at each bookmark; each with its version. */
function* statesOf(session: Session): Generator<readonly [bigint, ReadonlyMap<string, Seen>]> {
  if (session.initial === undefined) return;
  const state = new Map(session.initial);
  yield [session.from, state];
  for (const step of session.steps) {
    if (step.kind === 'bookmark') yield [step.version, state];
    else if (step.type === 'DELETED') state.delete(step.key);
    else state.set(step.key, step.object);
  }
}

function checkAtomic(session: Session, atoms: readonly Atom[], report: Report): void {
  if (atoms.length === 0) return;
  for (const [version, state] of statesOf(session)) {
    for (const { keys, states } of atoms) {
      const seen = keys.map((key) => state.get(key)?.digest ?? '').join('\n');
      if (states.some((allowed) => allowed.join('\n') === seen)) continue;
      report(
        'atomic',
        session.client,
        `at ${version} ${keys.join(', ')} are in none of their states`,
      );
    }
  }
}

/** Two clients at the same version of a log must have the same state. */
function checkSameStates(sessions: readonly Session[], report: Report): void {
  const known = new Map<bigint, string>();
  for (const session of sessions) {
    for (const [version, state] of statesOf(session)) {
      const text = [...state]
        .map(([key, { digest }]) => `${key} ${digest}`)
        .sort()
        .join('\n');
      const before = known.get(version) ?? text;
      known.set(version, before);
      if (before === text) continue;
      report('reliable', session.client, `at ${version} it holds another state than others`);
    }
  }
}
