import { readMessage } from '../../objects/read-message.ts';
import { MAP_ENTRY, UNKNOWN_FIELD } from '../../objects/schema.ts';
import { allocateOwned } from '../bytes/owned-copy.ts';
import type { AddFields, Editor, FieldVisitor } from '../cursor.ts';
import { encodeField } from './encode.ts';
import { FieldCursor } from './field-cursor.ts';

/** Edits protobuf. What stays of an object is copied as a whole, with the edited fields in between. */
export const PROTOBUF_EDITOR: Editor = {
  object(bytes, message, transient, visit, add) {
    const parts = edit(FieldCursor.over(bytes, message), visit, add);
    if (parts === undefined) return bytes;
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const edited = transient ? Buffer.allocUnsafe(length) : allocateOwned(length);
    let at = 0;
    for (const part of parts) {
      edited.set(part, at);
      at += part.length;
    }
    return edited;
  },

  message(field, visit, add) {
    const parts = edit((field as FieldCursor).enter(), visit, add);
    return parts === undefined ? 'keep' : { value: Buffer.concat(parts) };
  },

  entries(field, keeps) {
    const { key, value } = readMessage(field.enter(), MAP_ENTRY);
    return keeps(key, value) ? 'keep' : 'cut';
  },
};

/** The parts of the edited message; undefined: it has not changed. */
function edit(fields: FieldCursor, visit: FieldVisitor, add?: AddFields): Buffer[] | undefined {
  const parts: Buffer[] = [];
  let from = fields.end;
  while (fields.next()) {
    const { field, fieldStart, start, end } = fields;
    if (field === UNKNOWN_FIELD) continue;
    const action = visit(fields);
    if (action === 'keep') continue;
    parts.push(fields.bytes.subarray(from, fieldStart));
    from = end;
    if (action === 'cut') continue;
    const { value } = action;
    // The length prefix stays byte for byte, also an overlong one.
    if (Buffer.isBuffer(value) && value.length === end - start) {
      parts.push(fields.bytes.subarray(fieldStart, start), value);
    } else parts.push(encodeField(field, value));
  }
  const added = add?.() ?? [];
  if (parts.length === 0 && added.length === 0) return undefined;
  parts.push(fields.bytes.subarray(from, fields.limit));
  for (const { field, value } of added) parts.push(encodeField(field, value));
  return parts;
}
