/**
 * What others wrote is data. Names, annotations, zones and messages come from tenants, from the API server and from
 * local processes; what is printed of them must not forge lines, steer a terminal or hide.
 *
 * Everything is escaped but letters, marks, numbers, punctuation, symbols and the plain space. So these are
 * escaped: controls (C0, DEL, C1, so ESC too), formats (bidi, zero-width, tags), line and paragraph separators,
 * other spaces, lone surrogates, private and unassigned code points; also what looks like nothing (Hangul fillers,
 * Braille blank) and letters written from right to left, which turn round the columns beside them. Of marks on one
 * letter the fourth and later are escaped, and one without a letter, which would sit on the column before.
 *
 * A line feed is not in here: it never is in JSON text but as structure, and of one line it is escaped apart.
 */
const UNSAFE =
  /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]|^\p{M}|(?<=\p{M}{3})\p{M}/gu;

/** Most of what is printed: no need to look closer. */
const PLAIN = /^[ -~]*$/;

/** UTF-16 code units of one line that is printed, at most. */
const MAX_LINE = 8_000;
const CUT = '…';

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Escapes a text of others so that it takes one line and is seen: `\n`, `\u001b`, `\u{e0041}`. Escaping again
 * changes nothing.
 *
 * @param maxLength of the result, in UTF-16 code units; a longer one is cut and ends in `…`
 */
export function escapeUntrusted(text: string, maxLength: number): string {
  if (text.length <= maxLength && PLAIN.test(text)) return text;
  // Bounded before it is looked at: an escape is longer than what it stands for.
  const bounded = text.length > maxLength ? text.slice(0, maxLength + 1) : text;
  const escaped = bounded.replace(UNSAFE, escapeOne).replaceAll('\n', '\\n');
  return escaped.length <= maxLength ? escaped : cut(escaped, maxLength);
}

/** One line of text, with its end: whatever it was put together from, it is one line. */
export function printLine(text: string): string {
  return `${escapeUntrusted(text, MAX_LINE)}\n`;
}

/** Escapes the same in JSON text, which stays JSON and says the same. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE, (found) =>
    Array.from({ length: found.length }, (_, index) => unit(found.charCodeAt(index))).join(''),
  );
}

/** Whether a text holds what is escaped, line feeds aside. */
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

/** Never within a surrogate pair. */
function cut(text: string, maxLength: number): string {
  const end = maxLength - CUT.length;
  const last = text.charCodeAt(end - 1);
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end)}${CUT}`;
}
