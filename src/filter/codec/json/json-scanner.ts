import type { BufferList } from '../bytes/buffer-list.ts';
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
  body: BufferList,
  base = 0,
  maxItems = Number.POSITIVE_INFINITY,
): ItemOffsets | undefined {
  let items: { readonly start: number; readonly ends: number[] } | undefined;
  let isInItems = false;
  let isInText = false;
  let isEscaped = false;
  let depth = 0;
  let commas = 0;
  let key = { start: 0, end: 0 };
  let start = 0;
  for (const bytes of body.buffers) {
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index];
      const at = start + index;
      if (isInText) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) {
          isInText = false;
          if (depth === 1) key.end = at + 1;
        }
        continue;
      }
      switch (byte) {
        case QUOTE:
          isInText = true;
          if (depth === 1) key = { start: at, end: at };
          break;
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          if (++depth > MAX_DEPTH) {
            throw malformed(`JSON nested more than ${MAX_DEPTH} deep`, base + at);
          }
          if (depth !== 2 || byte !== OPEN_ARRAY || !isItems(body, key)) break;
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
    start += bytes.length;
  }
  return items;
}

function isItems(body: BufferList, { start, end }: { start: number; end: number }): boolean {
  return end - start === ITEMS.length && body.slice(start, end).equals(ITEMS);
}
