import { malformed, tooManyItems } from '../malformed.ts';
import { COLON, COMMA, OPEN_ARRAY, QUOTE, scan } from './scan.ts';

const ITEMS_KEY = Buffer.from('"items"');

/** A LIST body, split but not parsed. */
export interface SplitList {
  /** The body without the content of its array `items`. */
  readonly envelope: Buffer;
  /** The elements of that array. They share the memory of the body. */
  readonly items: readonly { readonly bytes: Buffer; readonly offset: number }[];
}

/**
 * Splits the body of a LIST, so that its items can be parsed one by one. A parsed body takes several times the memory
 * of its bytes. Invalid JSON is found later, when the parts are parsed.
 *
 * @throws `Malformed` if the body ends within the items, `TooLarge` if there are more than `maxItems`
 */
export function splitList(body: Buffer, maxItems: number): SplitList {
  const bounds = findItems(body, maxItems);
  const [open, ...ends] = bounds;
  const close = ends.at(-1);
  if (open === undefined || close === undefined) return { envelope: body, items: [] };
  const items = ends.map((end, index) => {
    const offset = (bounds[index] as number) + 1;
    return { bytes: body.subarray(offset, end), offset };
  });
  const isEmpty = items.length === 1 && items[0]?.bytes.toString('latin1').trim() === '';
  const envelope = Buffer.concat([body.subarray(0, open + 1), body.subarray(close)]);
  return { envelope, items: isEmpty ? [] : items };
}

/** Offsets of the opening bracket of the array `items`, of its commas and of its closing bracket; empty without it. */
function findItems(body: Buffer, maxItems: number): number[] {
  let bounds: number[] = [];
  let isItemsKey = false;
  let isInside = false;
  scan(body, (byte, start, end, depth) => {
    if (byte === QUOTE) {
      if (depth === 1) isItemsKey = body.subarray(start, end).equals(ITEMS_KEY);
    } else if (byte === OPEN_ARRAY && depth === 2 && isItemsKey) {
      bounds = [start];
      isInside = true;
    } else if (isInside && depth === 2 && byte !== COLON) {
      bounds.push(start);
      // After each comma comes one more item.
      if (byte === COMMA && bounds.length > maxItems) throw tooManyItems(maxItems);
      isInside = byte === COMMA;
    }
  });
  if (isInside) throw malformed('a list that ends within its items', body.length);
  return bounds;
}
