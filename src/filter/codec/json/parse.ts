import { constants, isUtf8 } from 'node:buffer';
import { MAX_JSON_COMMAS } from '../element-limit.ts';
import { malformed } from '../malformed.ts';
import { allocateOwned } from '../owned-copy.ts';
import { type Fields, isFields } from './fields.ts';
import { COLON, COMMA, QUOTE, scan } from './scan.ts';

/** Kubernetes objects nest about 10 levels deep; CRD schemas, which are in no view, about 40. */
const MAX_DEPTH = 100;

/**
 * Matches a number that JavaScript may not represent exactly: 16 digits or more, or an exponent. It may also match
 * within a string, which costs only time.
 */
const INEXACT = /[[,:\s]-?\d(?:[\d.]{15}|[\d.]*[eE])/;

/** The first character of a key that {@link hideEscapes} replaced. */
const HIDDEN = '\ue000';
const NEEDS_HIDING = /[\\\ue000]/;

/** Part of ECMAScript since 2025 and of Node 22; TypeScript's `es2024` does not declare it. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): object };

/**
 * Parses an object. A key that occurs twice has its last value. A number that JavaScript cannot represent becomes
 * a `JSON.rawJSON`, which keeps its digits for {@link stringify}.
 *
 * @param base offset of the bytes in the stream, for errors
 * @throws `Malformed` for bytes that are not UTF-8, not JSON, not an object or nested too deep
 */
export function parseObject(bytes: Buffer, base = 0): Fields {
  if (!isUtf8(bytes)) throw malformed('JSON that is not UTF-8', base);
  if (bytes.length > constants.MAX_STRING_LENGTH)
    throw malformed('JSON longer than a string can be', base);
  // Before the parser makes an object of each `{}`.
  if (bytes.length > MAX_JSON_COMMAS) assertCommaCount(bytes, base);
  const text = bytes.toString();
  const plain = parseText(text, base);
  if (!isFields(plain)) throw malformed('JSON that is not an object', base);
  if (isDeeper(plain, MAX_DEPTH)) throw malformed(`JSON nested more than ${MAX_DEPTH} deep`, base);
  // The text is valid, and not nested too deep for the reviver, which recurses.
  const safe = NEEDS_HIDING.test(text) ? hideEscapes(bytes) : text;
  return safe !== text || INEXACT.test(text) ? (JSON.parse(safe, revive) as Fields) : plain;
}

/** Encodes an object that {@link parseObject} returned, into memory that may live long. */
export function stringify(value: Fields): Buffer {
  const text = JSON.stringify(value);
  const bytes = allocateOwned(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

function assertCommaCount(bytes: Buffer, base: number): void {
  let commas = 0;
  for (const byte of bytes) {
    if (byte === COMMA && ++commas > MAX_JSON_COMMAS)
      throw malformed(`JSON of more than ${MAX_JSON_COMMAS} values`, base);
  }
}

function parseText(text: string, base: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // V8 reports the position only in its message, and not in every message.
    const position = Number(/at position (\d+)/.exec(String(cause))?.[1] ?? 0);
    throw malformed('invalid JSON', base + Buffer.byteLength(text.slice(0, position)), cause);
  }
}

/**
 * Replaces keys that contain escapes by URI-encoded keys. After a key with a backslash, V8 (Node 24 and 26) may read
 * another key, such as `"\n"`, as the first one (nodejs/node#63785).
 */
function hideEscapes(bytes: Buffer): string {
  const parts: string[] = [];
  let copied = 0;
  let keyStart = 0;
  scan(bytes, (byte, start, end) => {
    if (byte === QUOTE) keyStart = start;
    if (byte !== COLON) return;
    const key = bytes.toString('utf8', keyStart, start).trimEnd();
    if (!NEEDS_HIDING.test(key)) return;
    parts.push(bytes.toString('utf8', copied, keyStart), `"${HIDDEN}${encodeURIComponent(key)}":`);
    copied = end;
  });
  return parts.join('') + bytes.toString('utf8', copied);
}

/** Decodes a key that {@link hideEscapes} replaced. */
function reveal(key: string): string {
  return key.startsWith(HIDDEN) ? String(JSON.parse(decodeURIComponent(key.slice(1)))) : key;
}

/** Reveals hidden keys and keeps the digits of inexact numbers. */
function revive(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value === 'number') {
    const source = context?.source ?? '';
    return INEXACT.test(`:${source}`) ? rawJSON(source) : value;
  }
  if (!isFields(value) || !Object.keys(value).some((key) => key.startsWith(HIDDEN))) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [reveal(key), each]));
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  const values: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return values.some((each) => isDeeper(each, depth - 1));
}
