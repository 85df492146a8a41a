/**
 * Names, annotations, zones and messages come from tenants, from the API server and from local processes. When they
 * are printed, they must not forge lines, control a terminal or hide text.
 *
 * Only letters, marks, numbers, punctuation, symbols and the plain space are not escaped. Escaped are:
 * - controls (C0, DEL and C1, which includes ESC), formats (bidi, zero-width, tags), line and paragraph separators,
 *   other spaces, lone surrogates, private and unassigned code points
 * - characters that look empty (Hangul fillers, Braille blank)
 * - letters of right-to-left scripts, which would reorder the columns beside them
 * - the fourth and later marks on one letter, and a mark without a letter, which would be drawn on the column before
 *
 * The line feed is not included. In JSON text it is only structure, and for a single line it is escaped separately.
 */
const UNSAFE =
  /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]|^\p{M}|(?<=\p{M}{3})\p{M}/gu;

/** Fast path: most texts need no escapes. */
const PLAIN = /^[ -~]*$/;

/** Maximum length of a printed line, in UTF-16 code units. */
const MAX_PRINTED_LINE = 8_000;
const CUT = '…';

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Escapes an untrusted text so that it is one line and all of it is visible: `\n`, `\u001b`, `\u{e0041}`. Escaping
 * twice gives the same result.
 *
 * @param maxLength of the result, in UTF-16 code units; a longer result is cut and ends in `…`
 */
export function escapeUntrusted(text: string, maxLength: number): string {
  if (text.length <= maxLength && PLAIN.test(text)) return text;
  // Cut first, to bound the work: an escape is never shorter than its character.
  const bounded = text.length > maxLength ? text.slice(0, maxLength + 1) : text;
  const escaped = bounded.replace(UNSAFE, escapeOne).replaceAll('\n', '\\n');
  return escaped.length <= maxLength ? escaped : cut(escaped, maxLength);
}

/** Escapes a line of text and adds a line feed: the result is one line, whatever its parts contain. */
export function printLine(text: string): string {
  return `${escapeUntrusted(text, MAX_PRINTED_LINE)}\n`;
}

/** Escapes the same characters in JSON text; the result parses to the same value. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE, (found) =>
    Array.from({ length: found.length }, (_, index) => unit(found.charCodeAt(index))).join(''),
  );
}

/** Whether a text has characters that must be escaped, besides line feeds. */
export function isUnsafe(text: string): boolean {
  return text.search(UNSAFE) >= 0;
}

function escapeOne(found: string): string {
  const point = found.codePointAt(0) as number;
  return SHORT[found] ?? (point > 0xffff ? `\\u{${point.toString(16)}}` : unit(point));
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Cuts a text, but never within a surrogate pair. */
function cut(text: string, maxLength: number): string {
  const end = maxLength - CUT.length;
  const last = text.charCodeAt(end - 1);
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end)}${CUT}`;
}
