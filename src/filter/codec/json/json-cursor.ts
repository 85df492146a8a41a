import type { WrapperError } from '../../../errors.ts';
import {
  type AnyMessage,
  type Field,
  type FieldTable,
  NO_FIELDS,
  TABLE,
  UNKNOWN_FIELD,
} from '../../objects/schema.ts';
import { malformed } from '../bytes/malformed.ts';
import type { Cursor } from '../cursor.ts';
import { isObject, type JsonObject, type JsonValue, numberOf } from './json-value.ts';

/** A {@link Cursor} over an object of JSON. It visits the fields of a message in the order of the schema. */
export class JsonCursor implements Cursor {
  field: Field = UNKNOWN_FIELD;
  /** The message. */
  readonly object: JsonObject;
  readonly #fields: readonly Field[];
  readonly #base: number;
  /** Index of the current field. */
  #index = -1;
  /** The current field, if it is an array, and the index of its current element. */
  #array: (JsonValue | undefined)[] | undefined;
  #element = -1;
  /** Whether an element of that array was cut. */
  #hasCut = false;

  constructor(object: JsonObject, fields: FieldTable, base: number) {
    this.object = object;
    this.#fields = fields.fields;
    this.#base = base;
  }

  /** @param base offset of the object that was parsed, for errors */
  static over(object: JsonObject, message: AnyMessage, base = 0): JsonCursor {
    return new JsonCursor(object, message[TABLE], base);
  }

  next(): boolean {
    for (;;) {
      if (this.#array !== undefined && ++this.#element < this.#array.length) return true;
      this.#leaveArray();
      const field = this.#fields[++this.#index];
      if (field === undefined) return false;
      this.field = field;
      const value = this.#member;
      if (value === null || value === undefined) continue;
      if (!field.isRepeated) return true;
      if (!Array.isArray(value)) throw this.#isNot('an array');
      this.#array = value;
      this.#element = -1;
    }
  }

  enter(): JsonCursor {
    return new JsonCursor(this.encoded(), this.field.message ?? NO_FIELDS, this.#base);
  }

  /** The current value, an object; an empty one for null. */
  encoded(): JsonObject {
    const value = this.#value ?? {};
    if (!isObject(value)) throw this.#isNot('an object');
    return value;
  }

  text(): string {
    return this.#textOf(this.#value);
  }

  bool(): boolean {
    const value = this.#value;
    if (typeof value !== 'boolean') throw this.#isNot('a boolean');
    return value;
  }

  number(): number {
    const number = numberOf(this.#value);
    if (number === undefined) throw this.#isNot('a number');
    return number;
  }

  readMap(map: Map<string, string>): void {
    for (const [key, value] of Object.entries(this.encoded())) map.set(key, this.#textOf(value));
  }

  /** Replaces the current value. */
  set(value: JsonValue): void {
    if (this.#array === undefined) this.object[this.field.name] = value;
    else this.#array[this.#element] = value;
  }

  /** Removes the current value: an element, or a member that is not an array. */
  cut(): void {
    if (this.#array === undefined) {
      delete this.object[this.field.name];
      return;
    }
    // JSON has no undefined. To move all elements behind each one that is cut would take quadratic time.
    this.#array[this.#element] = undefined;
    this.#hasCut = true;
  }

  #leaveArray(): void {
    if (this.#hasCut) {
      this.object[this.field.name] = (this.#array ?? []).filter((each) => each !== undefined);
    }
    this.#array = undefined;
    this.#hasCut = false;
  }

  get #value(): JsonValue {
    const value = this.#array === undefined ? this.#member : this.#array[this.#element];
    return value as JsonValue;
  }

  get #member(): JsonValue | undefined {
    return this.object[this.field.name];
  }

  #textOf(value: JsonValue): string {
    if (value === null) return '';
    if (typeof value !== 'string') throw this.#isNot('a string');
    return value;
  }

  #isNot(type: string): WrapperError {
    return malformed(`'${this.field.name}' is not ${type}`, this.#base);
  }
}
