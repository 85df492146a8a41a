import { isUtf8 } from 'node:buffer';
import { malformed } from '../bytes/malformed.ts';
import { allocateOwned } from '../bytes/owned-copy.ts';

/** A value of JSON. A number that JavaScript would change is an object of JSON.rawJSON, which keeps its digits. */
export type JsonValue = JsonObject | JsonValue[] | string | number | boolean | null;

/** An object of JSON, with the last of several members of one name. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/** What JSON has since ES2026; the compiler's library does not know it yet. */
interface JsonWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}
const { parse: parseWithSource, rawJSON, isRawJSON } = JSON as unknown as JsonWithSource;

/**
 * A number of 16 digits or with an exponent, which JavaScript may not represent. Within a text it may look the same:
 * that costs time only.
 */
const LONG_NUMBER = /[:[,]\s*-?(?:[\d.]{16}|\d[\d.]*[eE])/;

/**
 * Parses an object of JSON. Throws `Malformed`.
 *
 * After a key with a backslash was parsed, V8 may read another key that has escapes wrongly (nodejs/node#63785, open in
 * Node 24 and 26). Kubernetes allows no such key in labels, annotations or selectors, and of what API servers send only
 * managedFields has escapes in keys. No key of the schema has any.
 *
 * @param base offset of the bytes in the stream or body, for errors
 */
export function parseObject(bytes: Buffer, base: number): JsonObject {
  if (!isUtf8(bytes)) throw malformed('JSON that is not UTF-8', base);
  const value = parse(bytes.toString(), base);
  if (!isObject(value)) throw malformed('JSON that is not an object', base);
  return value;
}

function parse(json: string, base: number): JsonValue {
  try {
    const value = LONG_NUMBER.test(json) ? parseWithSource(json, keepDigits) : JSON.parse(json);
    return value as JsonValue;
  } catch (cause) {
    throw malformed('invalid JSON', base, cause);
  }
}

/** Whether bytes are nothing but white space. */
export function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte <= 0x20);
}

/** The number that a value is; undefined: it is none. */
export function numberOf(value: JsonValue): number | undefined {
  if (typeof value === 'number') return value;
  return isRawJSON(value) ? Number(JSON.stringify(value)) : undefined;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false;
  return !Array.isArray(value) && !isRawJSON(value);
}

function keepDigits(_: string, value: unknown, { source }: { readonly source: string }): unknown {
  return typeof value === 'number' && String(value) !== source ? rawJSON(source) : value;
}

/** The bytes of an object that may live long. */
export function ownedJson(object: JsonObject): Buffer {
  return ownedText(JSON.stringify(object));
}

/**
 * {@link ownedJson} without kind and apiVersion, as one line: watches separate objects by newlines.
 *
 * @param parsed returned if these are the same bytes, so that they are not there twice
 */
export function untypedJson(
  { kind: _kind, apiVersion: _version, ...object }: JsonObject,
  parsed?: Buffer,
): Buffer {
  const json = JSON.stringify(object);
  return parsed?.toString() === json ? parsed : ownedText(json);
}

function ownedText(json: string): Buffer {
  const bytes = allocateOwned(Buffer.byteLength(json));
  bytes.write(json);
  return bytes;
}
