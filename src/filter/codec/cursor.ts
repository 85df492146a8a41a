import type { AnyMessage, Field } from './facts/schema.ts';

/**
 * Walks over the fields of one message, in any order. It decodes a value only when a method is called for it. Bytes that
 * do not parse, and a value of the wrong type, throw `Malformed`.
 *
 * The encodings differ in this:
 * - Protobuf has a repeated field once for each element. So has a cursor over JSON, once for each element of the array.
 * - A field that occurs several times is merged in protobuf: the last text wins. In JSON the last member wins.
 * - A member that is null in JSON is absent. A null element has zero values, as in Go.
 * - Protobuf has a map as one field for each entry; JSON has one object. See {@link readMap} and {@link mapValue}.
 */
export interface Cursor {
  /** The current field, or UNKNOWN_FIELD. */
  readonly field: Field;

  /** Moves to the next field, or to the next element of a repeated one; false at the end of the message. */
  next(): boolean;
  /** A cursor over the current field, a message. */
  enter(): Cursor;
  text(): string;
  bool(): boolean;
  number(): number;
  /** Adds what the current field has of a map of texts: one entry, or all. */
  readMap(map: Map<string, string>): void;
  /** The value of an ASCII key, if the current field has it of a map of texts. Other values are not decoded. */
  mapValue(key: string): string | undefined;
}

/** What becomes of a field: it stays, is removed, or has another text. */
export type FieldEdit = 'keep' | 'cut' | { readonly text: string };

/** Says what becomes of the current field. Not called for members that are null in JSON. */
export type EditField = (field: Cursor) => FieldEdit;

/** A field to add: a text, a boolean, or an encoded message. */
export interface AddedField {
  readonly field: Field;
  readonly value: string | boolean | Buffer;
}

/** Called at the end of a message, when all its fields have been visited. */
export type AddFields = () => readonly AddedField[];

/** Edits one object. What is not edited stays, see Edit. Use it once. */
export interface Editor {
  /** Edits the fields of the object itself. */
  object(message: AnyMessage, edit: EditField, add?: AddFields): void;
  /** Edits the message that is the current field. Returns `keep`. */
  message(field: Cursor, edit: EditField, add?: AddFields): FieldEdit;
  /** Edits a copy of the message that is the current field, and returns its bytes. */
  copy(field: Cursor, edit: EditField, add?: AddFields): Buffer;
  /** Removes a key from the current field, a map; without other keys it is removed itself. */
  cutKey(field: Cursor, key: string): FieldEdit;
  /** Removes from the current field, a map, all other keys, and values longer than `maxLength`. */
  keepKeys(field: Cursor, keys: readonly string[], maxLength: number): FieldEdit;
  /** The edited object; the object itself if nothing has changed. @param transient it will not live long */
  finish(transient: boolean): Buffer;
}
