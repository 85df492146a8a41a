import { readMessage } from '../../objects/read-message.ts';
import { type Field, MAP_ENTRY, UNKNOWN_FIELD } from '../../objects/schema.ts';
import { allocateOwned } from '../bytes/owned-copy.ts';
import type { AddedField, AddFields, Editor, FieldVisitor } from '../cursor.ts';
import { encodeField, fieldHead } from './encode.ts';
import { FieldCursor } from './field-cursor.ts';

/** Edits protobuf. What stays of an object is copied as a whole, once, with the edited fields in between. */
export const PROTOBUF_EDITOR: Editor = {
  object(bytes, message, transient, visit, add) {
    const parts = edit(FieldCursor.over(bytes, message), visit, add);
    if (parts === undefined) return bytes;
    const { length } = parts;
    const edited = transient ? Buffer.allocUnsafe(length) : allocateOwned(length);
    parts.write(bytes, edited);
    return edited;
  },

  message(field, visit, add) {
    const value = edit((field as FieldCursor).enter(), visit, add);
    return value === undefined ? 'keep' : { value };
  },

  entries(field, keeps) {
    const { key, value } = readMessage(field.enter(), MAP_ENTRY);
    return keeps(key, value) ? 'keep' : 'cut';
  },
};

/** An edited message, which is not joined before the whole object is written. */
class Parts {
  /** Buffers, and spans of the object as a start and then an end: to make a Buffer of a span takes longer. */
  readonly #parts: (Buffer | number)[] = [];
  length = 0;

  push(buffer: Buffer): void {
    this.#parts.push(buffer);
    this.length += buffer.length;
  }

  /** One by one: an object may have more parts than a call has arguments. */
  pushAll(parts: Parts): void {
    for (const part of parts.#parts) this.#parts.push(part);
    this.length += parts.length;
  }

  /** Between two fields that are cut, nothing stays. */
  pushSpan(start: number, end: number): void {
    if (start >= end) return;
    this.#parts.push(start, end);
    this.length += end - start;
  }

  write(object: Buffer, edited: Buffer): void {
    const parts = this.#parts;
    let at = 0;
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Buffer | number;
      if (typeof part === 'number') at += object.copy(edited, at, part, parts[++index] as number);
      else at += part.copy(edited, at);
    }
  }

  pushField(field: Field, value: AddedField['value']): void {
    if (value instanceof Parts) {
      this.push(fieldHead(field.number, value.length));
      this.pushAll(value);
    } else this.push(encodeField(field, value));
  }
}

/** The edited message; undefined: it has not changed. */
function edit(fields: FieldCursor, visit: FieldVisitor, add?: AddFields): Parts | undefined {
  const { limit } = fields;
  const parts = new Parts();
  let hasChanged = false;
  let from = fields.end;
  while (fields.next()) {
    const { field, fieldStart, start, end } = fields;
    if (field === UNKNOWN_FIELD) continue;
    const action = visit(fields);
    if (action === 'keep') continue;
    hasChanged = true;
    parts.pushSpan(from, fieldStart);
    from = end;
    if (action === 'cut') continue;
    const { value } = action;
    // The length prefix stays byte for byte, also an overlong one.
    if (value instanceof Parts && value.length === end - start) {
      parts.pushSpan(fieldStart, start);
      parts.pushAll(value);
    } else parts.pushField(field, value);
  }
  const added = add?.() ?? [];
  if (!hasChanged && added.length === 0) return undefined;
  parts.pushSpan(from, limit);
  for (const { field, value } of added) parts.pushField(field, value);
  return parts;
}
