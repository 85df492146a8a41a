import type { AddedField, AddFields, Cursor, EditField, Editor, FieldEdit } from '../cursor.ts';
import { type AnyMessage, UNKNOWN_FIELD } from '../facts/schema.ts';
import { FieldCursor } from './field-cursor.ts';
import { encodeField, lengthPrefix } from './length-prefix.ts';
import { Patch } from './patch.ts';

const NONE = (): readonly AddedField[] => [];

/** Edits protobuf: replaces fields, and the length prefixes of the messages around them. */
export class ProtobufEditor implements Editor {
  readonly #bytes: Buffer;
  readonly #patch = new Patch();

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  object(message: AnyMessage, edit: EditField, add: AddFields = NONE): void {
    this.#edit(FieldCursor.over(this.#bytes, message), edit, add);
  }

  message(field: Cursor, edit: EditField, add: AddFields = NONE): FieldEdit {
    const { valueStart, start, end } = field as FieldCursor;
    const before = this.#patch.delta;
    this.#edit(field.enter() as FieldCursor, edit, add);
    const delta = this.#patch.delta - before;
    // If the length does not change, the prefix stays byte for byte, also an overlong one.
    if (delta !== 0) this.#patch.replace(valueStart, start, lengthPrefix(end - start + delta));
    return 'keep';
  }

  copy(field: Cursor, edit: EditField, add: AddFields = NONE): Buffer {
    const { start, end } = field as FieldCursor;
    const editor = new ProtobufEditor(this.#bytes);
    editor.#edit(field.enter() as FieldCursor, edit, add);
    return editor.#patch.apply(this.#bytes, start, end);
  }

  cutKey(field: Cursor, key: string): FieldEdit {
    return field.mapValue(key) === undefined ? 'keep' : 'cut';
  }

  keepKeys(field: Cursor, keys: readonly string[], maxLength: number): FieldEdit {
    const values = keys.map((key) => field.mapValue(key));
    return values.some((value) => value !== undefined && value.length <= maxLength)
      ? 'keep'
      : 'cut';
  }

  finish(transient: boolean): Buffer {
    return this.#patch.finish(this.#bytes, transient);
  }

  #edit(fields: FieldCursor, edit: EditField, add: AddFields): void {
    while (fields.next()) {
      const { field, fieldStart, end } = fields;
      if (field === UNKNOWN_FIELD) continue;
      const result = edit(fields);
      if (result === 'keep') continue;
      if (result === 'cut') this.#patch.cut(fieldStart, end);
      else this.#patch.replace(fieldStart, end, encodeField(field.number, result.text));
    }
    if (add === NONE) return;
    for (const { field, value } of add()) {
      this.#patch.replace(fields.limit, fields.limit, encodeField(field.number, value));
    }
  }
}
