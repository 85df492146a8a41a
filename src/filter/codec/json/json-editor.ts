import type {
  AddedField,
  AddFields,
  Cursor,
  Editor,
  FieldAction,
  FieldVisitor,
} from '../cursor.ts';
import { type AnyMessage, type FieldTable, NO_FIELDS, TABLE } from '../facts/schema.ts';
import { JsonCursor } from './json-cursor.ts';
import { type JsonObject, type JsonValue, ownedJson, parseObject } from './json-value.ts';

const NONE = (): readonly AddedField[] => [];

/** Edits an object of JSON. Messages are edited in place. */
export class JsonEditor implements Editor {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  object(message: AnyMessage, transient: boolean, visit: FieldVisitor, add: AddFields): Buffer {
    const object = parseObject(this.#bytes, 0);
    if (!hasEdited(object, message[TABLE], visit, add)) return this.#bytes;
    return transient ? Buffer.from(JSON.stringify(object)) : ownedJson(object);
  }

  message(field: Cursor, visit: FieldVisitor, add: AddFields = NONE): FieldAction {
    const value = (field as JsonCursor).encoded();
    return hasEdited(value, field.field.message ?? NO_FIELDS, visit, add) ? { value } : 'keep';
  }

  entries(field: Cursor, keeps: (key: string, valueBytes: number) => boolean): FieldAction {
    const all = Object.entries((field as JsonCursor).encoded());
    const kept = all.filter(([key, value]) =>
      keeps(key, typeof value === 'string' ? Buffer.byteLength(value) : 0),
    );
    if (kept.length === 0) return 'cut';
    return kept.length === all.length ? 'keep' : { value: Object.fromEntries(kept) };
  }
}

function hasEdited(
  object: JsonObject,
  fields: FieldTable,
  visit: FieldVisitor,
  add: AddFields,
): boolean {
  let hasChanged = false;
  const cursor = new JsonCursor(object, fields, 0);
  while (cursor.next()) {
    const action = visit(cursor);
    if (action === 'keep') continue;
    hasChanged = true;
    if (action === 'cut') cursor.cut();
    else cursor.set(action.value as JsonValue);
  }
  for (const { field, value } of add()) {
    hasChanged = true;
    const list = object[field.name];
    if (!field.isRepeated) object[field.name] = value as JsonValue;
    else if (Array.isArray(list)) list.push(value as JsonValue);
    else object[field.name] = [value as JsonValue];
  }
  return hasChanged;
}
