import type { LineState, StatusLine } from '../../src/admin/status/status-line.ts';
import { printLine } from '../../src/text/untrusted-text.ts';
import { plural } from './format-output.ts';

const SIGNS: Readonly<Record<LineState, string>> = {
  ok: '[ok]  ',
  problem: '[FAIL]',
  warning: '[warn]',
  unknown: '[not known]',
  notConnected: '[not yet]',
};

/** One line of a status for a terminal, and what to do next. */
export function formatStatusLine({ id, state, text, detail, next }: StatusLine): string {
  const what = detail === undefined ? text : `${text} (${detail})`;
  const advice = next === undefined ? '' : printLine(`${' '.repeat(20)}next: ${next}`);
  return `${printLine(`${SIGNS[state]} ${id.padEnd(12)} ${what}`)}${advice}`;
}

/** Formats the lines of a status for a terminal, with a summary. */
export function formatStatusLines(lines: readonly StatusLine[]): string {
  const count = (state: LineState) => lines.filter((line) => line.state === state).length;
  const problems = count('problem');
  const sums = [
    problems === 0 ? 'no problem found' : plural(problems, 'problem'),
    ...(count('warning') === 0 ? [] : [plural(count('warning'), 'warning')]),
    ...counted(count('unknown'), 'not known'),
    ...counted(count('notConnected'), 'not yet'),
  ];
  return `${lines.map(formatStatusLine).join('')}\n${sums.join(', ')}\n`;
}

function counted(number: number, what: string): string[] {
  return number === 0 ? [] : [`${number} ${what}`];
}
