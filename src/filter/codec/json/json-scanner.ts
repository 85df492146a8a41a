import { MAX_JSON_COMMAS } from '../bytes/element-limit.ts';
import { malformed, tooManyObjects } from '../bytes/malformed.ts';

/** Where the items of a list are in its bytes. */
export interface ItemOffsets {
  /** Offset after the opening bracket. */
  readonly start: number;
  /** Offsets of the commas between items, and of the closing bracket. */
  readonly ends: readonly number[];
}

/** Kubernetes objects nest about 10 levels deep; CRD schemas, which are in no view, about 40. */
const MAX_DEPTH = 100;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const ITEMS = Buffer.from('"items"');

/**
 * Finds the items of a list, so that each can be parsed alone, and refuses what would take too much memory to parse:
 * more than MAX_DEPTH levels, or more than MAX_JSON_COMMAS values of one item. It checks nothing else.
 *
 * @param base offset of the bytes in the stream, for errors
 * @param maxItems throws `TooLarge` if there are more
 * @returns the last member `items` that is an array
 */
export function scanJson(
  bytes: Buffer,
  base = 0,
  maxItems = Number.POSITIVE_INFINITY,
): ItemOffsets | undefined {
  let items: { readonly start: number; readonly ends: number[] } | undefined;
  let isInItems = false;
  let depth = 0;
  let commas = 0;
  let key: Buffer | undefined;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE: {
        const end = endOfString(bytes, at);
        if (depth === 1) key = bytes.subarray(at, end + 1);
        at = end;
        break;
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > MAX_DEPTH) {
          throw malformed(`JSON nested more than ${MAX_DEPTH} deep`, base + at);
        }
        if (depth !== 2 || bytes[at] !== OPEN_ARRAY || key?.equals(ITEMS) !== true) break;
        items = { start: at + 1, ends: [] };
        commas = 0;
        isInItems = true;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (--depth === 1 && isInItems) items?.ends.push(at);
        if (depth === 1) isInItems = false;
        break;
      case COMMA:
        if (depth === 2 && isInItems) {
          items?.ends.push(at);
          commas = 0;
        } else if (++commas > MAX_JSON_COMMAS) {
          throw malformed(`JSON of more than ${MAX_JSON_COMMAS} values`, base + at);
        }
    }
    if (items !== undefined && items.ends.length > maxItems) throw tooManyObjects(maxItems);
  }
  return items;
}

/** Offset of the closing quote; without one, of the end of the bytes. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at++;
  }
  return bytes.length;
}
