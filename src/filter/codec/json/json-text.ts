import type { WrapperError } from '../../../errors.ts';
import { malformed } from '../malformed.ts';
import { isAscii } from '../schema.ts';

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;

/** Kubernetes objects nest about 10 levels deep; CRD schemas, which are in no view, about 40. */
const MAX_DEPTH = 100;

const LITERALS = ['true', 'false', 'null'] as const;
const ESCAPED: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrt'));

/** 1 for white space. */
const IS_SPACE = new Uint8Array(256);
for (const byte of Buffer.from(' \n\r\t')) IS_SPACE[byte] = 1;
/** 1 for bytes that mean themselves within a string. */
const IS_PLAIN = new Uint8Array(256).fill(1, 0x20);
IS_PLAIN[QUOTE] = 0;
IS_PLAIN[BACKSLASH] = 0;

/**
 * JSON as bytes. Its methods take the offset of a token and return the offset after it. They check all that they pass
 * (RFC 8259), and throw `Malformed` with the offset of the first byte that is wrong.
 */
export class JsonText {
  readonly bytes: Buffer;
  readonly #base: number;

  /** @param base offset of the bytes in the stream or body, for errors */
  constructor(bytes: Buffer, base = 0) {
    this.bytes = bytes;
    this.#base = base;
  }

  malformed(what: string, at: number): WrapperError {
    return malformed(what, this.#base + at);
  }

  invalid(at: number): WrapperError {
    return this.malformed('invalid JSON', at);
  }

  /** Offset of the next byte that is not white space. */
  skipSpace(offset: number): number {
    const { bytes } = this;
    let at = offset;
    while (IS_SPACE[bytes[at] as number] === 1) at++;
    return at;
  }

  /** {@link skipSpace}, if that byte is the one expected. */
  skipTo(byte: number, offset: number): number {
    const at = this.skipSpace(offset);
    if (this.bytes[at] !== byte) throw this.invalid(at);
    return at;
  }

  /** @param depth number of objects and arrays around the value */
  skipValue(at: number, depth: number): number {
    const byte = this.bytes[at];
    switch (byte) {
      case QUOTE:
        return this.skipString(at);
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        return this.#skipContainer(at, byte, depth + 1);
      default:
        return this.#skipNumber(at) ?? this.#skipLiteral(at);
    }
  }

  skipString(start: number): number {
    const { bytes } = this;
    if (bytes[start] !== QUOTE) throw this.invalid(start);
    let at = start + 1;
    for (;;) {
      while (IS_PLAIN[bytes[at] as number] === 1) at++;
      if (bytes[at] === QUOTE) return at + 1;
      // Also after the last byte, which is undefined.
      if (bytes[at] !== BACKSLASH) throw this.invalid(at);
      at = this.#skipEscape(at);
    }
  }

  /** Whether a string has escapes. */
  hasEscapes(start: number, end: number): boolean {
    for (let at = start; at < end; at++) if (this.bytes[at] === BACKSLASH) return true;
    return false;
  }

  /** The text of a string. */
  decodeString(start: number, end: number): string {
    const { bytes } = this;
    if (!this.hasEscapes(start, end)) return bytes.toString('utf8', start + 1, end - 1);
    return JSON.parse(bytes.toString('utf8', start, end)) as string;
  }

  #skipContainer(start: number, open: number, depth: number): number {
    if (depth > MAX_DEPTH) throw this.malformed(`JSON nested more than ${MAX_DEPTH} deep`, start);
    const { bytes } = this;
    const isObject = open === OPEN_OBJECT;
    const close = isObject ? CLOSE_OBJECT : CLOSE_ARRAY;
    let at = this.skipSpace(start + 1);
    if (bytes[at] === close) return at + 1;
    for (;;) {
      if (isObject) at = this.skipSpace(this.skipTo(COLON, this.skipString(at)) + 1);
      at = this.skipSpace(this.skipValue(at, depth));
      if (bytes[at] === close) return at + 1;
      if (bytes[at] !== COMMA) throw this.invalid(at);
      at = this.skipSpace(at + 1);
    }
  }

  #skipEscape(start: number): number {
    const { bytes } = this;
    if (ESCAPED.has(bytes[start + 1])) return start + 2;
    const code = bytes.toString('latin1', start + 1, start + 6);
    if (!/^u[\da-fA-F]{4}$/.test(code)) throw this.invalid(start + 1);
    return start + 6;
  }

  /** Undefined if no number begins here. */
  #skipNumber(start: number): number | undefined {
    const { bytes } = this;
    const first = bytes[start] === MINUS ? start + 1 : start;
    if (!isDigit(bytes[first])) return undefined;
    let at = bytes[first] === ZERO ? first + 1 : this.#skipDigits(first);
    if (bytes[at] === POINT) at = this.#skipDigits(at + 1);
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      const isSigned = bytes[at + 1] === MINUS || bytes[at + 1] === 0x2b;
      at = this.#skipDigits(isSigned ? at + 2 : at + 1);
    }
    return at;
  }

  #skipDigits(start: number): number {
    let at = start;
    while (isDigit(this.bytes[at])) at++;
    if (at === start) throw this.invalid(at);
    return at;
  }

  #skipLiteral(start: number): number {
    for (const literal of LITERALS) {
      if (isAscii(literal, this.bytes, start)) return start + literal.length;
    }
    throw this.invalid(start);
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39;
}
