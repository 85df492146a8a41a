import type { AddedField, AddFields, Cursor, EditField, Editor, FieldEdit } from '../cursor.ts';
import { type AnyMessage, type FieldTable, NO_FIELDS, TABLE } from '../facts/schema.ts';
import { JsonCursor } from './json-cursor.ts';
import { type JsonObject, ownedJson, parseJson, parseObject } from './json-value.ts';

const NONE = (): readonly AddedField[] => [];

/** Edits an object of JSON. */
export class JsonEditor implements Editor {
  readonly #bytes: Buffer;
  /** Undefined until {@link object} is called. */
  #object: JsonObject | undefined;
  #hasChanged = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  object(message: AnyMessage, edit: EditField, add: AddFields = NONE): void {
    this.#object = parseObject(this.#bytes, 0);
    this.#edit(this.#object, message[TABLE], edit, add);
  }

  message(field: Cursor, edit: EditField, add: AddFields = NONE): FieldEdit {
    const cursor = field as JsonCursor;
    const object = cursor.value === null ? {} : cursor.object();
    this.#edit(object, cursor.field.message ?? NO_FIELDS, edit, add);
    // A null element has zero values; with a value it is an object.
    if (Object.keys(object).length > 0) cursor.set(object);
    return 'keep';
  }

  copy(field: Cursor, edit: EditField, add: AddFields = NONE): Buffer {
    const { value } = field as JsonCursor;
    const copy = new JsonEditor(Buffer.from(JSON.stringify(value ?? {})));
    const message = field.field.message ?? NO_FIELDS;
    copy.object({ [TABLE]: message }, edit, add);
    return copy.finish(true);
  }

  cutKey(field: Cursor, key: string): FieldEdit {
    const map = (field as JsonCursor).object();
    const others = Object.keys(map).filter((each) => each !== key);
    if (others.length === 0) return 'cut';
    if (Object.hasOwn(map, key)) this.#hasChanged = true;
    delete map[key];
    return 'keep';
  }

  keepKeys(field: Cursor, keys: readonly string[], maxLength: number): FieldEdit {
    const kept = keys.flatMap((key) => {
      const value = field.mapValue(key);
      return value === undefined || value.length > maxLength ? [] : [[key, value] as const];
    });
    if (kept.length === 0) return 'cut';
    this.#hasChanged = true;
    (field as JsonCursor).set(Object.fromEntries(kept));
    return 'keep';
  }

  finish(transient: boolean): Buffer {
    if (!this.#hasChanged) return this.#bytes;
    return transient
      ? Buffer.from(JSON.stringify(this.#object))
      : ownedJson(this.#object as JsonObject);
  }

  #edit(object: JsonObject, fields: FieldTable, edit: EditField, add: AddFields): void {
    const cursor = new JsonCursor(object, fields, 0);
    while (cursor.next()) {
      const result = edit(cursor);
      if (result === 'keep') continue;
      this.#hasChanged = true;
      if (result === 'cut') cursor.cut();
      else cursor.set(result.text);
    }
    for (const { field, value } of add()) {
      this.#hasChanged = true;
      const json = Buffer.isBuffer(value) ? parseJson(value, 0) : value;
      const list = object[field.name];
      if (!field.isRepeated) object[field.name] = json;
      else if (Array.isArray(list)) list.push(json);
      else object[field.name] = [json];
    }
  }
}
