/** Slots of the cache; a power of two. Names of 1,000 nodes and some zones and ports fit. */
const SLOTS = 4096;
/** Longer texts are not remembered. */
const MAX_LENGTH = 128;

/**
 * Remembers short ASCII texts by their bytes, so that a name that 10,000 slices mention is decoded, and kept,
 * once. A text whose slot another one has taken is simply decoded again.
 */
export class TextCache {
  readonly #slots: (string | undefined)[] = new Array<string | undefined>(SLOTS).fill(undefined);

  /** The text that `decode` makes of the bytes in `[start, end)`. */
  read(bytes: Uint8Array, start: number, end: number, decode: () => string): string {
    const length = end - start;
    if (length > MAX_LENGTH) return decode();
    let hash = length;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 16_777_619);
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    const known = this.#slots[slot];
    if (known !== undefined && isText(known, bytes, start, length)) return known;
    const text = decode();
    // As many characters as bytes: ASCII, or bytes that are no text and never match.
    if (text.length === length) this.#slots[slot] = text;
    return text;
  }
}

function isText(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
