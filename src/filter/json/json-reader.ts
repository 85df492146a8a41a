import type { WrapperError } from '../../errors.ts';
import { malformed } from '../malformed.ts';
import { byteAt, endOfEscape, endOfLiteral, endOfNumber, endOfPlain } from './tokens.ts';

/** Kubernetes objects nest about 10 deep; CRD schemas, which are no business of ours, about 40. */
const MAX_DEPTH = 100;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Reads JSON as byte spans in one pass, validating all that it passes over. `pos` is always at the first
 * byte of a value, or right after one that was consumed. Whatever is no JSON throws `Malformed`.
 */
export class JsonReader {
  readonly bytes: Buffer;
  pos: number;
  /** Offset of the current member's key, or of the current element. */
  itemStart = 0;
  readonly #base: number;
  #depth = 0;
  /** The current member's key without its quotes, and whether it contains escapes. */
  #keyStart = 0;
  #keyEnd = 0;
  #keyEscaped = false;

  /**
   * @param start offset of the value in `bytes`
   * @param base offset of `bytes` in what errors should speak of
   */
  constructor(bytes: Buffer, start = 0, base = 0) {
    this.bytes = bytes;
    this.pos = start;
    this.#base = base;
    this.#skipWhitespace();
  }

  /**
   * Consumes an object, calling `visit` at the value of each member. A value that `visit` leaves where it
   * is gets skipped. `null` counts as an object without members, as in Go.
   */
  object(visit: () => void): void {
    if (this.isNull()) {
      this.skipValue();
      return;
    }
    this.#open(OPEN_OBJECT);
    for (let more = !this.#closes(CLOSE_OBJECT); more; more = this.#more(CLOSE_OBJECT)) {
      this.#key();
      this.#visit(visit);
    }
  }

  /** Consumes an array, calling `visit` at each element; otherwise like {@link JsonReader.object}. */
  array(visit: () => void): void {
    if (this.isNull()) {
      this.skipValue();
      return;
    }
    this.#open(OPEN_ARRAY);
    for (let more = !this.#closes(CLOSE_ARRAY); more; more = this.#more(CLOSE_ARRAY)) {
      this.itemStart = this.pos;
      this.#visit(visit);
    }
  }

  /** Whether the current member has this ASCII key. Holds until a nested object is read. */
  keyIs(key: string): boolean {
    if (this.#keyEscaped) return this.#decode(this.#keyStart - 1, this.#keyEnd + 1) === key;
    if (this.#keyEnd - this.#keyStart !== key.length) return false;
    for (let i = 0; i < key.length; i++) {
      if (this.bytes[this.#keyStart + i] !== key.charCodeAt(i)) return false;
    }
    return true;
  }

  /** The current member's key. */
  key(): string {
    return this.#decode(this.#keyStart - 1, this.#keyEnd + 1);
  }

  isNull(): boolean {
    return byteAt(this.bytes, this.pos) === 0x6e;
  }

  /** Consumes a string and returns it; `null` is the empty one. */
  text(): string {
    if (this.isNull()) {
      this.skipValue();
      return '';
    }
    const start = this.pos;
    const escaped = this.#string();
    if (escaped) return this.#decode(start, this.pos);
    return this.bytes.toString('utf8', start + 1, this.pos - 1);
  }

  /** Consumes a boolean and returns it; `null` is undefined. */
  bool(): boolean | undefined {
    const first = byteAt(this.bytes, this.pos);
    if (first !== 0x6e && first !== 0x74 && first !== 0x66) throw this.malformed('no boolean');
    this.skipValue();
    return first === 0x6e ? undefined : first === 0x74;
  }

  /** Consumes a number and returns it; `null` is 0. */
  number(): number {
    const start = this.pos;
    if (this.isNull()) {
      this.skipValue();
      return 0;
    }
    this.pos = this.#endOf(endOfNumber(this.bytes, start), 'number');
    return Number(this.bytes.toString('latin1', start, this.pos));
  }

  /** Consumes any value. */
  skipValue(): void {
    switch (byteAt(this.bytes, this.pos)) {
      case OPEN_OBJECT:
        this.object(skipNothing);
        return;
      case OPEN_ARRAY:
        this.array(skipNothing);
        return;
      case QUOTE:
        this.#string();
        return;
      case 0x74:
        this.pos = this.#endOf(endOfLiteral(this.bytes, this.pos, 'true'), 'value');
        return;
      case 0x66:
        this.pos = this.#endOf(endOfLiteral(this.bytes, this.pos, 'false'), 'value');
        return;
      case 0x6e:
        this.pos = this.#endOf(endOfLiteral(this.bytes, this.pos, 'null'), 'value');
        return;
      default:
        this.pos = this.#endOf(endOfNumber(this.bytes, this.pos), 'value');
    }
  }

  /** Throws unless only whitespace follows. */
  finish(): void {
    this.#skipWhitespace();
    if (this.pos < this.bytes.length) throw this.malformed('data after the JSON value');
  }

  /** An error about the current position. */
  malformed(what: string): WrapperError {
    return malformed(what, this.#base + this.pos);
  }

  #visit(visit: () => void): void {
    const start = this.pos;
    visit();
    if (this.pos === start) this.skipValue();
  }

  #open(bracket: number): void {
    if (byteAt(this.bytes, this.pos) !== bracket) {
      throw this.malformed(`no '${String.fromCharCode(bracket)}' of JSON`);
    }
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.malformed(`JSON nested more than ${MAX_DEPTH} deep`);
    this.pos += 1;
    this.#skipWhitespace();
  }

  /** Consumes the closing bracket if it comes next. */
  #closes(bracket: number): boolean {
    if (byteAt(this.bytes, this.pos) !== bracket) return false;
    this.pos += 1;
    this.#depth -= 1;
    return true;
  }

  /** Moves behind a comma to the next item; false at the closing bracket. */
  #more(bracket: number): boolean {
    this.#skipWhitespace();
    if (this.#closes(bracket)) return false;
    this.#expect(COMMA);
    return true;
  }

  #key(): void {
    this.itemStart = this.pos;
    this.#keyStart = this.pos + 1;
    this.#keyEscaped = this.#string();
    this.#keyEnd = this.pos - 1;
    this.#skipWhitespace();
    this.#expect(COLON);
  }

  #expect(punctuation: number): void {
    if (byteAt(this.bytes, this.pos) !== punctuation) {
      throw this.malformed(`no '${String.fromCharCode(punctuation)}' in JSON`);
    }
    this.pos += 1;
    this.#skipWhitespace();
  }

  /** Consumes a string; true when it contains escapes. */
  #string(): boolean {
    if (byteAt(this.bytes, this.pos) !== QUOTE) throw this.malformed('no JSON string');
    let escaped = false;
    let at = this.pos + 1;
    for (;;) {
      at = endOfPlain(this.bytes, at);
      const byte = byteAt(this.bytes, at);
      if (byte === QUOTE) {
        this.pos = at + 1;
        return escaped;
      }
      if (byte !== BACKSLASH) {
        throw this.malformed('a JSON string with a control character, or without an end,');
      }
      escaped = true;
      at = this.#endOf(endOfEscape(this.bytes, at), 'string');
    }
  }

  #endOf(end: number, token: string): number {
    if (end < 0) throw this.malformed(`no JSON ${token}`);
    return end;
  }

  /** Decodes the string that was found to be one. */
  #decode(start: number, end: number): string {
    return String(JSON.parse(this.bytes.toString('utf8', start, end)));
  }

  #skipWhitespace(): void {
    for (;;) {
      const byte = byteAt(this.bytes, this.pos);
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.pos += 1;
    }
  }
}

function skipNothing(): void {
  // The reader skips what a visitor leaves.
}
