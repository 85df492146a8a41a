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
    const { buffers, length } = parts;
    const edited = transient ? Buffer.allocUnsafe(length) : allocateOwned(length);
    let at = 0;
    for (const buffer of buffers) {
      edited.set(buffer, at);
      at += buffer.length;
    }
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

/** An edited message: its bytes, which are not joined before the whole object is written. */
class Parts {
  readonly buffers: Buffer[] = [];
  length = 0;

  push(buffer: Buffer): void {
    this.buffers.push(buffer);
    this.length += buffer.length;
  }

  /** One by one: an object may have more parts than a call has arguments. */
  pushAll({ buffers }: Parts): void {
    for (const buffer of buffers) this.push(buffer);
  }

  /** Between two fields that are cut, nothing stays. */
  pushSpan(bytes: Buffer, start: number, end: number): void {
    if (start < end) this.push(bytes.subarray(start, end));
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
  const { bytes, limit } = fields;
  const parts = new Parts();
  let hasChanged = false;
  let from = fields.end;
  while (fields.next()) {
    const { field, fieldStart, start, end } = fields;
    if (field === UNKNOWN_FIELD) continue;
    const action = visit(fields);
    if (action === 'keep') continue;
    hasChanged = true;
    parts.pushSpan(bytes, from, fieldStart);
    from = end;
    if (action === 'cut') continue;
    const { value } = action;
    // The length prefix stays byte for byte, also an overlong one.
    if (value instanceof Parts && value.length === end - start) {
      parts.push(bytes.subarray(fieldStart, start));
      parts.pushAll(value);
    } else parts.pushField(field, value);
  }
  const added = add?.() ?? [];
  if (!hasChanged && added.length === 0) return undefined;
  parts.pushSpan(bytes, from, limit);
  for (const { field, value } of added) parts.pushField(field, value);
  return parts;
}
