import type { ObjectBytes, ObjectMeta, PartialObjectMetadata } from '../codec.ts';
import { FieldCursor } from './field-cursor.ts';

/** Field number of `metadata` in every Kubernetes object. */
export const METADATA = 1;

/** Fields of ObjectMeta (apimachinery meta/v1/generated.proto). */
export const OBJECT_META = {
  name: 1,
  namespace: 3,
  uid: 5,
  resourceVersion: 6,
  generation: 7,
  labels: 11,
  annotations: 12,
  managedFields: 17,
} as const;

/** Fields of a protobuf map's entries. */
export const MAP_ENTRY = { key: 1, value: 2 } as const;

/** Metadata while it is read. */
export type MetaDraft = { -readonly [K in keyof ObjectMeta]: ObjectMeta[K] };

export function emptyMeta(): MetaDraft {
  return { namespace: '', name: '', uid: '', resourceVersion: '' };
}

/**
 * Reads ObjectMeta into a draft. If a message field occurs twice, protobuf requires that it is merged: the last value
 * of a scalar wins.
 *
 * @param visit called for every field that is not part of the draft
 */
export function readMetadata(
  metadata: FieldCursor,
  draft: MetaDraft,
  visit?: (field: FieldCursor) => void,
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
export function readMeta(object: ObjectBytes): ObjectMeta {
  const meta = emptyMeta();
  const fields = FieldCursor.over(object);
  while (fields.next()) if (fields.field === METADATA) readMetadata(fields.enter(), meta);
  return meta;
}

/**
 * Reads metadata with labels and annotations, which every kind has in the same place.
 *
 * @param visit called for every other field of the object
 */
export function readPartialMetadata(
  object: ObjectBytes,
  visit?: (field: FieldCursor) => void,
): PartialObjectMetadata {
  const meta = emptyMeta();
  const labels = new Map<string, string>();
  const annotations = new Map<string, string>();
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field !== METADATA) {
      visit?.(fields);
      continue;
    }
    readMetadata(fields.enter(), meta, (field) => {
      if (field.field === OBJECT_META.labels) readMapEntry(field.enter(), labels);
      if (field.field === OBJECT_META.annotations) readMapEntry(field.enter(), annotations);
    });
  }
  return { ...meta, labels, annotations };
}

function readMapEntry(entry: FieldCursor, map: Map<string, string>): void {
  let key = '';
  let value = '';
  while (entry.next()) {
    if (entry.field === MAP_ENTRY.key) key = entry.text();
    if (entry.field === MAP_ENTRY.value) value = entry.text();
  }
  map.set(key, value);
}

/** The value of a map entry with this ASCII key, else undefined. Values of other keys are not decoded. */
export function entryValue(entry: FieldCursor, key: string): string | undefined {
  // Undefined until the key is read: it may follow the value.
  let found: boolean | undefined;
  let value = '';
  while (entry.next()) {
    if (entry.field === MAP_ENTRY.key) found = entry.isText(key);
    if (found !== false && entry.field === MAP_ENTRY.value) value = entry.text();
  }
  return (found ?? key === '') ? value : undefined;
}
