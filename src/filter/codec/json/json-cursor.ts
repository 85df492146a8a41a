import { isUtf8 } from 'node:buffer';
import type { WrapperError } from '../../../errors.ts';
import type { Cursor } from '../cursor.ts';
import { malformed } from '../malformed.ts';
import {
  type AnyMessage,
  type Field,
  type FieldTable,
  isAscii,
  NO_FIELDS,
  TABLE,
  UNKNOWN_FIELD,
} from '../schema.ts';
import type { TextCache } from '../text-cache.ts';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  JsonText,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-text.ts';

/** A message has fewer than 50 fields. Maps and arrays are not limited. */
const MAX_MEMBERS = 1000;
const NULL = 0x6e;
const TRUE = 0x74;
const FALSE = 0x66;

/** A member that a later one with the same name replaces. */
const REPLACED: Field = { ...UNKNOWN_FIELD };

/** The position of an element of an array, or of a member of an object. */
export interface Sibling {
  /** Offset after the sibling before. Without one it has no meaning. */
  readonly previousEnd: number;
  /** Offset of the element, or of the member's key. */
  readonly fieldStart: number;
  readonly end: number;
  /** Offset of the next sibling; without one, of the end. */
  readonly nextStart: number;
}

/** The position of an entry of a map. */
export interface Entry extends Sibling {
  readonly keyEnd: number;
  /** Offset of the value. */
  readonly start: number;
}

/**
 * A {@link Cursor} over JSON. It finds the members of an object when it is created, and checks all its bytes, also those
 * of members that nobody reads.
 */
export class JsonCursor implements Cursor, Sibling {
  field: Field = UNKNOWN_FIELD;
  start = 0;
  fieldStart = 0;
  previousEnd = 0;
  /** Offset after the object. */
  readonly limit: number;
  readonly json: JsonText;
  readonly #depth: number;
  /** Members: their fields, and for each the offsets of its key, its value and its end. */
  readonly #fields: Field[] = [];
  readonly #offsets: number[] = [];
  #index = -1;
  #inArray = false;
  /** Undefined until it is needed. */
  #end: number | undefined;

  /** @param start offset of an object, or of null, which has no members */
  private constructor(json: JsonText, fields: FieldTable, start: number, depth: number) {
    this.json = json;
    this.#depth = depth;
    this.limit =
      json.bytes[start] === OPEN_OBJECT
        ? this.#findMembers(start, fields)
        : json.skipValue(start, depth);
  }

  /**
   * A cursor before the first member of an object, which are all of the bytes.
   *
   * @param base offset of the bytes in the stream, for errors
   */
  static over(bytes: Buffer, message: AnyMessage, base = 0): JsonCursor {
    if (!isUtf8(bytes)) throw malformed('JSON that is not UTF-8', base);
    const json = new JsonText(bytes, base);
    const start = json.skipSpace(0);
    if (bytes[start] !== OPEN_OBJECT) throw json.malformed('JSON that is not an object', start);
    const cursor = new JsonCursor(json, message[TABLE], start, 1);
    const { limit } = cursor;
    if (limit < bytes.length && json.skipSpace(limit) < bytes.length) throw json.invalid(limit);
    return cursor;
  }

  /** Whether the current value is null. */
  get isNull(): boolean {
    return this.json.bytes[this.start] === NULL;
  }

  /** Whether a later member with the same name replaces the current one. */
  get isReplaced(): boolean {
    return this.field === REPLACED;
  }

  get end(): number {
    this.#end ??= this.json.skipValue(this.start, this.#depth);
    return this.#end;
  }

  get nextStart(): number {
    return this.#nextAfter(this.end);
  }

  next(): boolean {
    if (this.#inArray && this.nextElement()) return true;
    while (this.nextMember()) {
      const { field } = this;
      if (field === UNKNOWN_FIELD || field === REPLACED || this.isNull) continue;
      if (!field.isRepeated || this.nextElement()) return true;
    }
    return false;
  }

  /** Moves to the next member, also one that {@link next} leaves out. An array is one member. */
  nextMember(): boolean {
    const offsets = this.#offsets;
    const at = 3 * ++this.#index;
    if (at >= offsets.length) return false;
    this.field = this.#fields[this.#index] as Field;
    this.previousEnd = at === 0 ? 0 : (offsets[at - 1] as number);
    this.fieldStart = offsets[at] as number;
    this.start = offsets[at + 1] as number;
    this.#end = offsets[at + 2] as number;
    this.#inArray = false;
    return true;
  }

  /** Moves to the next element of the current member, an array. */
  nextElement(): boolean {
    const { json } = this;
    let at = this.start;
    if (this.#inArray) {
      this.previousEnd = this.end;
      at = json.skipSpace(this.previousEnd);
    } else if (json.bytes[at] !== OPEN_ARRAY) {
      throw this.#isNot('an array');
    }
    at = json.skipSpace(at + 1);
    // After the last element, `at` is behind the array.
    this.#inArray = at < this.memberEnd && json.bytes[at] !== CLOSE_ARRAY;
    if (!this.#inArray) return false;
    this.start = at;
    this.fieldStart = at;
    this.#end = undefined;
    return true;
  }

  /** Offset after the current member, which may be an array. */
  get memberEnd(): number {
    return this.#offsets[3 * this.#index + 2] as number;
  }

  enter(): JsonCursor {
    return this.enterAs(this.field.message ?? NO_FIELDS);
  }

  /** {@link enter} with the fields of another message. */
  enterAs(fields: FieldTable): JsonCursor {
    const byte = this.json.bytes[this.start];
    if (byte !== OPEN_OBJECT && byte !== NULL) throw this.#isNot('an object');
    const message = new JsonCursor(this.json, fields, this.start, this.#depth + 1);
    this.#end = message.limit;
    return message;
  }

  text(): string {
    return this.#textAt(this.start, this.end);
  }

  cachedText(cache: TextCache): string {
    const { start, end, json } = this;
    if (json.bytes[start] !== QUOTE || json.hasEscapes(start, end)) return this.text();
    return cache.read(json.bytes, start + 1, end - 1, () => this.text());
  }

  bool(): boolean {
    const byte = this.json.bytes[this.start];
    if (byte !== TRUE && byte !== FALSE) throw this.#isNot('a boolean');
    return byte === TRUE;
  }

  number(): number {
    const value = Number(this.json.bytes.toString('latin1', this.start, this.end));
    if (Number.isNaN(value)) throw this.#isNot('a number');
    return value;
  }

  readMap(map: Map<string, string>): void {
    this.eachEntry(({ fieldStart, keyEnd, start, end }) => {
      map.set(this.json.decodeString(fieldStart, keyEnd), this.#textAt(start, end));
    });
  }

  mapValue(key: string): string | undefined {
    let found: string | undefined;
    this.eachEntry((entry) => {
      if (this.isKey(entry, key)) found = this.#textAt(entry.start, entry.end);
    });
    return found;
  }

  /** Calls back with each entry of the current value, a map. */
  eachEntry(visit: (entry: Entry) => void): void {
    if (this.isNull) return;
    const { json } = this;
    if (json.bytes[this.start] !== OPEN_OBJECT) throw this.#isNot('an object');
    let previousEnd = 0;
    let fieldStart = json.skipSpace(this.start + 1);
    while (json.bytes[fieldStart] === QUOTE) {
      const keyEnd = json.skipString(fieldStart);
      const start = json.skipSpace(json.skipTo(COLON, keyEnd) + 1);
      const end = json.skipValue(start, this.#depth);
      const nextStart = this.#nextAfter(end);
      visit({ previousEnd, fieldStart, keyEnd, start, end, nextStart });
      if (nextStart === end) return;
      previousEnd = end;
      fieldStart = nextStart;
    }
  }

  /** Whether an entry has this ASCII key. */
  isKey({ fieldStart, keyEnd }: Entry, key: string): boolean {
    const { json } = this;
    const isSame =
      keyEnd - fieldStart === key.length + 2 && isAscii(key, json.bytes, fieldStart + 1);
    if (isSame || !json.hasEscapes(fieldStart, keyEnd)) return isSame;
    return json.decodeString(fieldStart, keyEnd) === key;
  }

  /** Offset of the sibling after one that ends there; without one, of that end. */
  #nextAfter(end: number): number {
    const at = this.json.skipSpace(end);
    return this.json.bytes[at] === COMMA ? this.json.skipSpace(at + 1) : end;
  }

  #textAt(start: number, end: number): string {
    const byte = this.json.bytes[start];
    if (byte === NULL) return '';
    if (byte !== QUOTE) throw this.#isNot('a string');
    return this.json.decodeString(start, end);
  }

  #isNot(type: string): WrapperError {
    return this.json.malformed(`'${this.field.name}' is not ${type}`, this.start);
  }

  /** Finds the members of an object, and returns the offset after it. */
  #findMembers(open: number, fields: FieldTable): number {
    const { json } = this;
    const { bytes } = json;
    let at = json.skipSpace(open + 1);
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    for (;;) {
      const key = at;
      const keyEnd = json.skipString(key);
      const value = json.skipSpace(json.skipTo(COLON, keyEnd) + 1);
      const end = json.skipValue(value, this.#depth);
      this.#addMember(this.#fieldNamed(fields, key, keyEnd), key, value, end);
      at = json.skipSpace(end);
      if (bytes[at] === CLOSE_OBJECT) return at + 1;
      if (bytes[at] !== COMMA) throw json.invalid(at);
      at = json.skipSpace(at + 1);
    }
  }

  #fieldNamed(fields: FieldTable, key: number, keyEnd: number): Field {
    const { json } = this;
    const field = fields.named(json.bytes, key + 1, keyEnd - 1);
    if (field !== UNKNOWN_FIELD || !json.hasEscapes(key, keyEnd)) return field;
    const name = Buffer.from(json.decodeString(key, keyEnd));
    return fields.named(name, 0, name.length);
  }

  #addMember(field: Field, key: number, value: number, end: number): void {
    if (this.#fields.length >= MAX_MEMBERS) {
      throw this.json.malformed(`a JSON object of more than ${MAX_MEMBERS} members`, key);
    }
    const before = field === UNKNOWN_FIELD ? -1 : this.#fields.lastIndexOf(field);
    if (before >= 0) this.#fields[before] = REPLACED;
    this.#fields.push(field);
    this.#offsets.push(key, value, end);
  }
}
