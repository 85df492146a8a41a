/** Slots of the cache; a power of two. The names of 1,000 nodes and some zones and ports fit. */
const SLOTS = 4096;
/** Maximum length of a cached text. */
const MAX_LENGTH = 128;

/**
 * Caches short ASCII texts by their bytes. A node name in 10,000 slices is decoded and stored once. Texts that share a
 * slot replace each other, and are then decoded again.
 */
export class TextCache {
  readonly #slots: (string | undefined)[] = new Array<string | undefined>(SLOTS).fill(undefined);

  /** The text that `decode` returns for the bytes in `[start, end)`, from the cache if possible. */
  read(bytes: Uint8Array, start: number, end: number, decode: () => string): string {
    const length = end - start;
    if (length > MAX_LENGTH) return decode();
    let hash = length;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 16_777_619);
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    const cached = this.#slots[slot];
    if (cached !== undefined && isText(cached, bytes, start, length)) return cached;
    const text = decode();
    // With as many characters as bytes it is ASCII, or invalid UTF-8, which never matches.
    if (text.length === length) this.#slots[slot] = text;
    return text;
  }
}

function isText(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
