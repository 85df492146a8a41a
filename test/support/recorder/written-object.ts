import { createHash } from 'node:crypto';
import type { ReceivedObject } from './follow.ts';
import type { ReceivedRecord, WrittenObject } from './written-record.ts';

/** The fields of a JSON object that its record needs. */
export interface RecordedObject extends ReceivedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly managedFields?: unknown;
  };
}

/** Leaves out kind and apiVersion: items of a list do not have them, those of a watch do. */
export function toWritten(object: RecordedObject): WrittenObject {
  // A change that this node does not see increments the generation. No event is sent; only the next process shows it.
  const { resourceVersion, generation: _, managedFields: _fields, ...metadata } = object.metadata;
  const rest = { ...object, metadata, kind: undefined, apiVersion: undefined };
  const digest = createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 16);
  const { namespace = '', name } = metadata;
  return { key: `${namespace}/${name}`, version: resourceVersion, digest };
}

/** A record with its objects as they are written. */
export function toRecord(record: ReceivedRecord<RecordedObject>): ReceivedRecord<WrittenObject> {
  if (record.kind === 'list') return { ...record, items: record.items.map(toWritten) };
  if (record.kind === 'event') return { ...record, object: toWritten(record.object) };
  return record;
}
