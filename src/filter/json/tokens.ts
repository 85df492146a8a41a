const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

/** The byte at an offset; -1, which no byte is, outside of the buffer. */
export function byteAt(bytes: Buffer, offset: number): number {
  return bytes[offset] ?? -1;
}

/** 1 for each byte that stands for itself in a string. The terminator of {@link endOfPlain} is 0. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === 0x22 || byte === 0x5c ? 0 : 1,
);

/** Offset of the first byte of a string that is a quote, a backslash or none that may be there. */
export function endOfPlain(bytes: Buffer, start: number): number {
  let at = start;
  while (PLAIN[bytes[at] ?? 0] === 1) at++;
  return at;
}

/** Offset after the literal `text`; -1 if another token is there. */
export function endOfLiteral(bytes: Buffer, start: number, text: string): number {
  for (let i = 0; i < text.length; i++) {
    if (byteAt(bytes, start + i) !== text.charCodeAt(i)) return -1;
  }
  return start + text.length;
}

/** Offset after a number of RFC 8259 section 6; -1 if there is none. */
export function endOfNumber(bytes: Buffer, start: number): number {
  let at = byteAt(bytes, start) === MINUS ? start + 1 : start;
  at = byteAt(bytes, at) === ZERO ? at + 1 : endOfDigits(bytes, at);
  if (at >= 0 && byteAt(bytes, at) === DOT) at = endOfDigits(bytes, at + 1);
  if (at < 0) return -1;
  const exponent = byteAt(bytes, at);
  if (exponent !== LOWER_E && exponent !== UPPER_E) return at;
  const sign = byteAt(bytes, at + 1);
  return endOfDigits(bytes, at + (sign === PLUS || sign === MINUS ? 2 : 1));
}

/** Offset after one or more digits; -1 if there is none. */
function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (byteAt(bytes, at) >= ZERO && byteAt(bytes, at) <= NINE) at++;
  return at === start ? -1 : at;
}

/** Offset after the escape sequence that begins at a backslash; -1 if it is none (RFC 8259 section 7). */
export function endOfEscape(bytes: Buffer, start: number): number {
  const letter = byteAt(bytes, start + 1);
  if (letter !== 0x75) return ESCAPES.has(letter) ? start + 2 : -1;
  for (let at = start + 2; at < start + 6; at++) {
    if (!HEX_DIGITS.has(byteAt(bytes, at))) return -1;
  }
  return start + 6;
}

const ESCAPES = new Set(Buffer.from('"\\/bfnrt', 'latin1'));
const HEX_DIGITS = new Set(Buffer.from('0123456789abcdefABCDEF', 'latin1'));
