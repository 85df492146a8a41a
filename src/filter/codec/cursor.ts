import type { AnyMessage, Field } from '../objects/schema.ts';

/**
 * Walks over the fields of one message, in any order. It decodes a value only when a method is called for it. Bytes
 * that do not parse, and a value of the wrong type, throw `Malformed`.
 *
 * The encodings differ in this:
 * - Protobuf has a repeated field once for each element. So has a cursor over JSON, once for each element of the array.
 * - A field that occurs several times is merged in protobuf: the last text wins. In JSON the last member wins.
 * - A member that is null in JSON is absent. A null element has zero values, as in Go.
 * - Protobuf has a map as one field for each entry; JSON has one object. See {@link readMap}.
 */
export interface Cursor {
  /** The current field, or UNKNOWN_FIELD. */
  readonly field: Field;

  /** Moves to the next field, or to the next element of a repeated one; false at the end of the message. */
  next(): boolean;
  /** A cursor over the current field, a message. Use it before the next call: that may return the same cursor. */
  enter(): Cursor;
  text(): string;
  bool(): boolean;
  number(): number;
  /** Adds what the current field has of a map of texts: one entry, or all. */
  readMap(map: Map<string, string>): void;
  /** The current field, a message, as it is. */
  encoded(): EncodedMessage;
}

/** A message in one encoding. Only an {@link Editor} of that encoding can use it. */
export type EncodedMessage = object;

/** A value of a message to encode: fields by name. Undefined: absent. */
export interface MessageValue {
  readonly [name: string]:
    | string
    | number
    | boolean
    | MessageValue
    | readonly MessageValue[]
    | undefined;
}

/** What becomes of a field: it stays, is removed, or has another value. */
export type FieldAction = 'keep' | 'cut' | { readonly value: string | EncodedMessage };

/** Says what becomes of the current field. Not called for unknown fields, nor for members that are null in JSON. */
export type FieldVisitor = (field: Cursor) => FieldAction;

/** A field to add. */
export interface AddedField {
  readonly field: Field;
  readonly value: string | boolean | MessageValue | EncodedMessage;
}

/** Called at the end of a message, when all its fields have been visited. */
export type AddFields = () => readonly AddedField[];

/** Edits an object of one encoding. What is not edited stays, see Edit. */
export interface Editor {
  /**
   * Returns the edited object; the object itself if nothing has changed.
   *
   * @param transient the result will not live long
   */
  object(
    object: Buffer,
    message: AnyMessage,
    transient: boolean,
    visit: FieldVisitor,
    add?: AddFields,
  ): Buffer;
  /** Edits the message that is the current field. */
  message(field: Cursor, visit: FieldVisitor, add?: AddFields): FieldAction;
  /** Removes entries from the current field, a map of texts; without any entry it is removed itself. */
  entries(field: Cursor, keeps: (key: string, value: string) => boolean): FieldAction;
}
