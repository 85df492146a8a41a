import { createHash } from 'node:crypto';
import type { WrittenObject } from './written-record.ts';

/** An object as JSON, as far as its record needs it. */
export interface ReceivedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly managedFields?: unknown;
  };
}

/** Items of a list have no kind and apiVersion, those of a watch have. */
export function toWritten(object: ReceivedObject): WrittenObject {
  // A change that this node does not see counts the generation up. It is not told, and shown by the next process only.
  const { resourceVersion, generation: _, managedFields: _fields, ...metadata } = object.metadata;
  const rest = { ...object, metadata, kind: undefined, apiVersion: undefined };
  const digest = createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 16);
  const { namespace = '', name } = metadata;
  return { key: `${namespace}/${name}`, version: resourceVersion, digest };
}
