import { readFileSync } from 'node:fs';
import type { ClientRecord, Seen } from '../guarantees/watch-guarantees.ts';
import type { WrittenObject, WrittenRecord } from './written-record.ts';

/** The records of a client so far, without an incomplete last line. */
export function readRecords(file: string): WrittenRecord[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as WrittenRecord);
}

/** Converts a record for the validator. Throws if nobody knows which process gave the answer. */
export function toClientRecord(record: WrittenRecord): ClientRecord {
  const { process: log } = record;
  const isAnswer = record.kind === 'list' || record.kind === 'watch';
  if (isAnswer && log === '') throw new Error('an answer does not name its process');
  switch (record.kind) {
    case 'list': {
      const items = new Map(record.items.map((item) => [item.key, toSeen(item)]));
      return { kind: 'list', log, version: BigInt(record.version), items };
    }
    case 'watch':
      return { kind: 'watch', log, from: BigInt(record.from) };
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
