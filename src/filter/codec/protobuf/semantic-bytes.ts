import { TRIGGER_TIME_ANNOTATION } from '../api-conventions.ts';
import type { ObjectBytes } from '../codec.ts';
import { Patch } from '../patch.ts';
import { FieldCursor } from './field-cursor.ts';
import { editMessage } from './length-prefix.ts';
import { entryValue, METADATA, OBJECT_META } from './metadata.ts';

/** Returns an object without the fields that clients do not act on; see `Codec.semanticBytes`. */
export function semanticBytes(object: ObjectBytes): Buffer {
  const patch = new Patch();
  const fields = FieldCursor.over(object);
  while (fields.next()) if (fields.field === METADATA) cutNoise(patch, fields);
  return patch.applyTransient(object);
}

/** Cuts the fields that clients do not act on out of an object's metadata. */
export function cutNoise(patch: Patch, metadataField: FieldCursor): void {
  editMessage(patch, metadataField, () => {
    const metadata = metadataField.enter();
    while (metadata.next()) {
      if (isNoise(metadata)) patch.cut(metadata.fieldStart, metadata.end);
    }
  });
}

function isNoise(field: FieldCursor): boolean {
  switch (field.field) {
    case OBJECT_META.resourceVersion:
    case OBJECT_META.generation:
    case OBJECT_META.managedFields:
      return true;
    case OBJECT_META.annotations:
      return entryValue(field.enter(), TRIGGER_TIME_ANNOTATION) !== undefined;
    default:
      return false;
  }
}
