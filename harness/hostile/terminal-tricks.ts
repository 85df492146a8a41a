/** Control characters except the line feed, C1, bidi controls, line separators, zero width and lone surrogates. */
export const HARMFUL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not come out
  /[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb]/g;

/** What a tenant could write to change what an operator sees in a terminal. */
export const TRICKS = {
  'clear the screen (ESC)': '\x1b[2J\x1b[1;1H',
  'set the title (OSC)': '\x1b]0;owned\x07',
  'a link (OSC 8)': '\x1b]8;;http://evil.example\x1b\\all is well',
  'a forged line (CR LF)': 'a\r\n[ok] kernel  all is well\r\n',
  'C1 controls': '\x9b2J\x9d0;owned\x9c\x85next',
  'bidi controls': '\u202eevil\u202c\u2066x\u2069\u200f',
  'line separators': 'a\u2028b\u2029c\ufeff',
  backspaces: 'no\b\b\x7f\x7f\x00',
} as const;
