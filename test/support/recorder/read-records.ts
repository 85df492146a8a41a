import { readFileSync } from 'node:fs';
import type { ClientRecord, Seen } from '../watch-guarantees.ts';
import type { TimedRecord, WrittenObject } from './written-record.ts';

/** When a process served, in milliseconds since the epoch. Those of one port never overlap. */
export interface Generation {
  readonly log: string;
  readonly start: number;
  /** Undefined: it still runs. */
  readonly end: number | undefined;
}

/** What a client wrote so far; a line that is not yet complete is left out. */
export function readRecords(file: string): TimedRecord[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as TimedRecord);
}

/** The same for the validator: with the name of the process that answered. */
export function toClientRecords(
  records: readonly TimedRecord[],
  generations: readonly Generation[],
): ClientRecord[] {
  return records.map((record) => toClientRecord(record, generations));
}

function toClientRecord(record: TimedRecord, generations: readonly Generation[]): ClientRecord {
  switch (record.kind) {
    case 'list': {
      const items = new Map(record.items.map((item) => [item.key, toSeen(item)]));
      const log = logAt(record.answered, generations);
      return { kind: 'list', log, version: BigInt(record.version), items };
    }
    case 'watch': {
      const log = logAt(record.answered, generations);
      return { kind: 'watch', log, from: BigInt(record.from) };
    }
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
      throw new Error(`a client received what is no JSON: ${record.what}`);
  }
}

/** What a client holds after all that, as digests by key. */
export function stateAfter(records: readonly TimedRecord[]): ReadonlyMap<string, string> {
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

function logAt(time: number, generations: readonly Generation[]): string {
  const found = generations.findLast(({ start }) => start <= time);
  if (found === undefined) throw new Error('an answer from before the first process');
  return found.log;
}
