import type { AddFields, Editor, FieldVisitor } from '../cursor.ts';
import { JsonCursor } from './json-cursor.ts';
import { type JsonValue, ownedJson, parseObject } from './json-value.ts';

/** Edits an object of JSON. Messages are edited in place. */
export const JSON_EDITOR: Editor = {
  object(bytes, message, transient, visit, add) {
    const object = parseObject(bytes, 0);
    if (!hasEdited(JsonCursor.over(object, message), visit, add)) return bytes;
    return transient ? Buffer.from(JSON.stringify(object)) : ownedJson(object);
  },

  message(field, visit, add) {
    const message = (field as JsonCursor).enter();
    return hasEdited(message, visit, add) ? { value: message.object } : 'keep';
  },

  entries(field, keeps) {
    const all = Object.entries((field as JsonCursor).encoded());
    const kept = all.filter(([key, value]) => keeps(key, typeof value === 'string' ? value : ''));
    if (kept.length === 0) return 'cut';
    return kept.length === all.length ? 'keep' : { value: Object.fromEntries(kept) };
  },
};

function hasEdited(fields: JsonCursor, visit: FieldVisitor, add?: AddFields): boolean {
  let hasChanged = false;
  while (fields.next()) {
    const action = visit(fields);
    if (action === 'keep') continue;
    hasChanged = true;
    if (action === 'cut') fields.cut();
    else fields.set(action.value as JsonValue);
  }
  const { object } = fields;
  for (const { field, value } of add?.() ?? []) {
    hasChanged = true;
    const list = object[field.name];
    if (!field.isRepeated) object[field.name] = value as JsonValue;
    else if (Array.isArray(list)) list.push(value as JsonValue);
    else object[field.name] = [value as JsonValue];
  }
  return hasChanged;
}
