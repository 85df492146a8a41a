import { malformed } from '../malformed.ts';

/** A JSON object whose members are not checked yet. */
export type Fields = Record<string, unknown>;

/** Recognises a number that is kept as text (see parse.ts). TypeScript's `es2024` does not declare it. */
const { isRawJSON } = JSON as typeof JSON & { isRawJSON(value: unknown): boolean };

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value);
}

/*
 * Each of these functions reads one member of an object. An absent or null member has the zero value, as in Go. A
 * member of another type throws `Malformed`.
 */

export function fields(object: Fields, key: string): Fields {
  return asFields(object[key], key);
}

/** An array of objects. */
export function list(object: Fields, key: string): Fields[] {
  return array(object, key).map((each) => asFields(each, key));
}

export function array(object: Fields, key: string): unknown[] {
  const value = object[key];
  return Array.isArray(value) ? value : empty(value, [], `'${key}' is not an array`);
}

export function text(object: Fields, key: string): string {
  const value = object[key];
  return typeof value === 'string' ? value : empty(value, '', `'${key}' is not a string`);
}

export function number(object: Fields, key: string): number {
  const value = object[key];
  if (isRawJSON(value)) return Number(JSON.stringify(value));
  return typeof value === 'number' ? value : empty(value, 0, `'${key}' is not a number`);
}

export function bool(object: Fields, key: string): boolean | undefined {
  const value = object[key];
  return typeof value === 'boolean' ? value : empty(value, undefined, `'${key}' is not a boolean`);
}

function asFields(value: unknown, key: string): Fields {
  return isFields(value) ? value : empty(value, {}, `'${key}' is not an object`);
}

function empty<T>(value: unknown, zero: T, problem: string): T {
  if (value === undefined || value === null) return zero;
  throw malformed(problem, 0);
}
