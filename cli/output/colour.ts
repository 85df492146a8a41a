import { styleText } from 'node:util';

/**
 * What the start of a line means. All lines are printed by printLine(), so untrusted text cannot contain a sequence.
 */
const RULES = [
  [/^(?:\[FAIL\]|E ).*/, 'red'],
  [/^(?:! .*|\[warn\])/, 'yellow'],
  [/^i .*/, 'dim'],
  [/^\[ok\]/, 'green'],
  [/^\[(not known|not used|note)\]/, 'dim'],
  [/^ {2}\+(?= )/, 'green'],
  [/^ {2}-(?= )/, 'red'],
  [/^ {2}~(?= )/, 'yellow'],
  [/^[A-Z][A-Z ]+(?: {2}[A-Z ]+)+$/, 'bold'],
] as const;

/** Colours lines by how they begin, if standard output is a terminal that wants colours. */
export function paint(text: string): string {
  // Only a terminal has this method. It respects NO_COLOR (no-color.org) and TERM=dumb.
  if (process.stdout.hasColors?.() !== true) return text;
  return text.replaceAll(/[^\n]+/g, (line) => {
    const rule = RULES.find(([start]) => start.test(line));
    if (rule === undefined) return line;
    const [start, colour] = rule;
    return line.replace(start, (found) => styleText(colour, found, { validateStream: false }));
  });
}
