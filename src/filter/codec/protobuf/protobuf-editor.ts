import { allocateOwned } from '../bytes/owned-copy.ts';
import type {
  AddedField,
  AddFields,
  Cursor,
  Editor,
  FieldAction,
  FieldVisitor,
  MessageValue,
} from '../cursor.ts';
import { type AnyMessage, type Field, MAP_ENTRY, TABLE, UNKNOWN_FIELD } from '../facts/schema.ts';
import { FieldCursor } from './field-cursor.ts';
import { encodeField, fieldHead } from './length-prefix.ts';
import { encodeMessage } from './message.ts';

const NONE = (): readonly AddedField[] => [];

/** Edits protobuf. The parts of an object that stay are copied once, when all its messages are edited. */
export class ProtobufEditor implements Editor {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  object(message: AnyMessage, transient: boolean, visit: FieldVisitor, add: AddFields): Buffer {
    const parts = this.#edit(FieldCursor.over(this.#bytes, message), visit, add);
    if (parts === undefined) return this.#bytes;
    const { length } = parts;
    return parts.writeTo(transient ? Buffer.allocUnsafe(length) : allocateOwned(length));
  }

  message(field: Cursor, visit: FieldVisitor, add: AddFields = NONE): FieldAction {
    const value = this.#edit((field as FieldCursor).enter(), visit, add);
    return value === undefined ? 'keep' : { value };
  }

  entries(field: Cursor, keeps: (key: string, valueBytes: number) => boolean): FieldAction {
    let key = '';
    let valueBytes = 0;
    const entry = (field as FieldCursor).enter();
    while (entry.next()) {
      if (entry.field === MAP_ENTRY.key) key = entry.text();
      if (entry.field === MAP_ENTRY.value) valueBytes = entry.end - entry.start;
    }
    return keeps(key, valueBytes) ? 'keep' : 'cut';
  }

  /** The edited message; undefined: it has not changed. */
  #edit(fields: FieldCursor, visit: FieldVisitor, add: AddFields): Parts | undefined {
    let parts: Parts | undefined;
    let from = fields.end;
    while (fields.next()) {
      const { field, fieldStart, start, end } = fields;
      if (field === UNKNOWN_FIELD) continue;
      const action = visit(fields);
      if (action === 'keep') continue;
      parts ??= new Parts();
      parts.add(this.#bytes.subarray(from, fieldStart));
      from = end;
      if (action === 'cut') continue;
      const { value } = action;
      const isSameLength = value instanceof Parts && value.length === end - start;
      // The length prefix stays byte for byte, also an overlong one.
      if (isSameLength) parts.addAll(this.#bytes.subarray(fieldStart, start), value);
      else parts.addField(field, value);
    }
    const added = add();
    if (parts === undefined && added.length === 0) return undefined;
    parts ??= new Parts();
    parts.add(this.#bytes.subarray(from, fields.limit));
    for (const { field, value } of added) parts.addField(field, value);
    return parts;
  }
}

/** What an edited message consists of, in order. */
class Parts {
  length = 0;
  readonly #parts: Uint8Array[] = [];

  add(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.length += bytes.length;
  }

  addAll(head: Uint8Array, content: Parts): void {
    this.add(head);
    for (const part of content.#parts) this.add(part);
  }

  addField({ number, message }: Field, value: AddedField['value']): void {
    if (value instanceof Parts) this.addAll(fieldHead(number, value.length), value);
    else if (typeof value !== 'object' || Buffer.isBuffer(value)) {
      this.add(encodeField(number, value));
    } else if (message !== undefined) {
      this.add(encodeField(number, encodeMessage({ [TABLE]: message }, value as MessageValue)));
    }
  }

  writeTo(target: Buffer): Buffer {
    let at = 0;
    for (const part of this.#parts) {
      target.set(part, at);
      at += part.length;
    }
    return target;
  }
}
