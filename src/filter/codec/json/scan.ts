/** Bytes at which a scan calls its visitor. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

const BACKSLASH = 0x5c;

/**
 * Finds the strings, brackets, commas and colons of JSON. The JSON may be invalid.
 *
 * @param visit called with the first byte of the token, its start and end offsets, and its depth: the number of
 * objects and arrays around it, where a bracket counts its own
 */
export function scan(
  bytes: Buffer,
  visit: (byte: number, start: number, end: number, depth: number) => void,
): void {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) visit(byte, at, at + 1, ++depth);
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) visit(byte, at, at + 1, depth--);
    else if (byte === COMMA || byte === COLON) visit(byte, at, at + 1, depth);
    else if (byte === QUOTE) {
      const end = endOfString(bytes, at);
      visit(byte, at, end, depth);
      at = end - 1;
    }
  }
}

function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}
