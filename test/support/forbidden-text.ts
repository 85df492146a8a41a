/** First and last code points, written by hand, so that this list does not share an error with the tested code. */
const FORBIDDEN: readonly (readonly [number, number])[] = [
  [0x00, 0x09],
  [0x0b, 0x1f],
  [0x7f, 0xa0],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x5d0, 0x7ff],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x2800, 0x2800],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0xfffe, 0xffff],
  [0xe0000, 0xe0fff],
];

/** The code points of a text that control a terminal or hide text, in hexadecimal. */
export function forbiddenIn(text: string): string[] {
  const points = Array.from(text, (each) => each.codePointAt(0) as number);
  const bad = points.filter((point) =>
    FORBIDDEN.some(([first, last]) => point >= first && point <= last),
  );
  return bad.map((point) => point.toString(16));
}

/** What somebody could write to change what an operator sees in a terminal. */
export const NASTY = [
  '\u001b[2J',
  '\u001b]0;title\u0007',
  '\r\n! all is well\n',
  '\r',
  '\u009b31m',
  '\u0085',
  '\u007f',
  '\0',
  '\t',
  '\u202eevil\u202c',
  '\u2066x\u2069',
  '\u200e',
  '\u200f',
  '\u061c',
  '\u200b\u200d\ufeff\u00ad',
  '\u2028',
  '\u2029',
  '\ud800',
  '\udc00',
  'a\u0301\u0302\u0303\u0304\u0305\u0306',
  '\u0301',
  '\u{e0041}',
  '\u3164',
  '\u05d0\u05d1',
  '\ufffe',
  'z'.repeat(2_000),
  '"',
  '\\',
  ',',
];
