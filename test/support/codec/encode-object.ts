import { encodeMessage } from '../../../embedded/protobuf-encode.ts';
import type { Encoding, ObjectBytes } from '../../../src/filter/codec/codec.ts';

/** Encodes an object as the items of a LIST carry it. */
export function encodeObject(encoding: Encoding, kind: string, object: object): ObjectBytes {
  return encoding === 'json' ? Buffer.from(JSON.stringify(object)) : encodeMessage(kind, object);
}
