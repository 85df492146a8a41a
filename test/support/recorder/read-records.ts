import { readFileSync } from 'node:fs';
import type { ClientRecord, Seen } from '../guarantees/watch-guarantees.ts';
import type { WrittenObject, WrittenRecord } from './written-record.ts';

/**
 * The last nine digits of the version of a change are below this and some changes: the upper half of them is for the
 * objects of first states.
 */
const CYCLE = 500_000_000n;

/**
 * When a process served, in milliseconds since the epoch. Processes on one port overlap during a hot restart.
 */
export interface Generation {
  readonly log: string;
  readonly start: number;
  /** Undefined: it ended when the next one began; the last one still runs. */
  readonly end: number | undefined;
}

/** The records of a client so far, without an incomplete last line. */
export function readRecords(file: string): WrittenRecord[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as WrittenRecord);
}

/** Converts records for the validator: adds the name of the process that answered. */
export function toClientRecords(
  records: readonly WrittenRecord[],
  generations: readonly Generation[],
): ClientRecord[] {
  return records.map((record, index) => {
    const log = () => logOf(record, firstVersion(records, index), generations);
    return toClientRecord(record, log);
  });
}

function toClientRecord(record: WrittenRecord, log: () => string): ClientRecord {
  switch (record.kind) {
    case 'list': {
      const items = new Map(record.items.map((item) => [item.key, toSeen(item)]));
      return { kind: 'list', log: log(), version: BigInt(record.version), items };
    }
    case 'watch':
      return { kind: 'watch', log: log(), from: BigInt(record.from) };
    case 'event': {
      const { type, object } = record;
      return { kind: 'event', type, key: object.key, object: toSeen(object) };
    }
    case 'bookmark':
      return { kind: 'bookmark', version: BigInt(record.version) };
    case 'expired':
    case 'end':
      return { kind: 'end' };
    case 'unreadable':
      throw new Error(`a client received invalid JSON: ${record.what}`);
  }
}

/** The state of a client after these records, as digests by key. */
export function stateAfter(records: readonly WrittenRecord[]): ReadonlyMap<string, string> {
  const state = new Map<string, string>();
  for (const record of records) {
    if (record.kind === 'list') {
      state.clear();
      for (const { key, digest } of record.items) state.set(key, digest);
    } else if (record.kind === 'event') {
      const { type, object } = record;
      if (type === 'DELETED') state.delete(object.key);
      else state.set(object.key, object.digest);
    }
  }
  return state;
}

function toSeen({ version, digest }: WrittenObject): Seen {
  return { version: BigInt(version), digest };
}

/** By how much, in milliseconds, a busy client may read an answer after the process that sent it has ended. */
const LATE_MS = 2_000;

/**
 * The process that gave an answer: the one that served at the time. If two may have, the first version of the answer
 * decides: its last nine digits grow from 100 times the start time of the process in milliseconds, modulo a cycle. For
 * a watch, that is the version of its first event. The version from which it resumed may belong to another process,
 * which must have been refused.
 */
function logOf(
  { answered }: WrittenRecord,
  version: string | undefined,
  generations: readonly Generation[],
): string {
  const [before, after] = generations
    .filter(({ start, end }, index) => {
      const nextStart = generations[index + 1]?.start ?? Number.POSITIVE_INFINITY;
      const until = end === undefined ? nextStart : end + LATE_MS;
      return start <= answered && answered < until;
    })
    .slice(-2);
  // A process that was just killed may have answered right before.
  const only = before ?? generations.findLast(({ start }) => start <= answered);
  if (only === undefined) throw new Error('an answer from before the first process');
  if (after === undefined || version === undefined) return only.log;
  const began = BigInt(version) % CYCLE;
  const sinceStart = (began - ((BigInt(after.start) * 100n) % CYCLE) + CYCLE) % CYCLE;
  return sinceStart < CYCLE / 2n ? after.log : only.log;
}

/** The version of a list, or of the first event of a watch; undefined: the record is neither. */
function firstVersion(records: readonly WrittenRecord[], index: number): string | undefined {
  const record = records[index];
  if (record?.kind === 'list') return record.version;
  if (record?.kind !== 'watch') return undefined;
  const next = records[index + 1];
  if (next?.kind === 'event') return next.object.version;
  return next?.kind === 'bookmark' ? next.version : record.from;
}
