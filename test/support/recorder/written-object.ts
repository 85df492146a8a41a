import { createHash } from 'node:crypto';
import type { WrittenObject } from './written-record.ts';

/** The fields of a JSON object that its record needs. */
export interface ReceivedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly managedFields?: unknown;
  };
}

/** Leaves out kind and apiVersion: items of a list do not have them, those of a watch do. */
export function toWritten(object: ReceivedObject): WrittenObject {
  // A change that this node does not see increments the generation. No event is sent; only the next process shows it.
  const { resourceVersion, generation: _, managedFields: _fields, ...metadata } = object.metadata;
  const rest = { ...object, metadata, kind: undefined, apiVersion: undefined };
  const digest = createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 16);
  const { namespace = '', name } = metadata;
  return { key: `${namespace}/${name}`, version: resourceVersion, digest };
}
