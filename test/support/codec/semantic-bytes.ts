import type { Codec, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';

/** An object without the fields that clients do not act on, of any resource. */
export function semanticBytes(codec: Codec, object: ObjectBytes): Buffer {
  return codec.edit(SERVICES, object, { withoutNoise: true });
}
