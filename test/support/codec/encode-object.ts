import { encodeMessage } from '../../../fake-apiserver/protobuf-encode.ts';
import type { Encoding, ObjectBytes } from '../../../src/filter/codec/codec.ts';

/** Encodes an object as an item of a LIST: without kind and apiVersion. */
export function encodeObject(encoding: Encoding, kind: string, object: object): ObjectBytes {
  return encoding === 'json' ? Buffer.from(JSON.stringify(object)) : encodeMessage(kind, object);
}
