import type { ObjectMeta } from '../codec.ts';
import type { Cursor } from '../cursor.ts';
import { METADATA, OBJECT_META } from './schema.ts';

/** Metadata while it is read. */
export type MetaDraft = { -readonly [K in keyof ObjectMeta]: ObjectMeta[K] };

export function emptyMeta(): MetaDraft {
  return { namespace: '', name: '', uid: '', resourceVersion: '' };
}

/**
 * Reads ObjectMeta into a draft.
 *
 * @param visit called for every field that is not part of the draft
 */
export function readMetadata(
  metadata: Cursor,
  draft: MetaDraft,
  visit?: (field: Cursor) => void,
): void {
  while (metadata.next()) {
    switch (metadata.field) {
      case OBJECT_META.name:
        draft.name = metadata.text();
        break;
      case OBJECT_META.namespace:
        draft.namespace = metadata.text();
        break;
      case OBJECT_META.uid:
        draft.uid = metadata.text();
        break;
      case OBJECT_META.resourceVersion:
        draft.resourceVersion = metadata.text();
        break;
      default:
        visit?.(metadata);
    }
  }
}

/** Reads only the identity and version of an object. */
export function readMeta(object: Cursor): ObjectMeta {
  const meta = emptyMeta();
  while (object.next()) if (object.field === METADATA) readMetadata(object.enter(), meta);
  return meta;
}
