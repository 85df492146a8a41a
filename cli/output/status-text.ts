import type { LineState, StatusLine } from '../../src/admin/status/status-line.ts';
import { plural } from '../../src/text/numbers.ts';
import { printLine } from '../../src/text/untrusted-text.ts';

const SIGNS: Readonly<Record<LineState, string>> = {
  ok: '[ok]  ',
  problem: '[FAIL]',
  warning: '[warn]',
  unknown: '[not known]',
  note: '[note]',
  notConnected: '[not used]',
};

/**
 * One line of a status for a terminal, and what to do next.
 *
 * @param explain the command that explains a Service
 */
export function formatStatusLine(
  { id, state, text, detail, next, service }: StatusLine,
  explain: (service: string) => string,
): string {
  const what = detail === undefined ? text : `${text} (${detail})`;
  const see = service === undefined ? [] : [`see ${explain(service)}`];
  const steps = [...(next === undefined ? [] : [next]), ...see].join('; ');
  const advice = steps === '' ? '' : printLine(`${' '.repeat(20)}next: ${steps}`);
  return `${printLine(`${SIGNS[state]} ${id.padEnd(12)} ${what}`)}${advice}`;
}

/** Formats the lines of a status for a terminal, with a summary. */
export function formatStatusLines(lines: readonly StatusLine[]): string {
  const count = (state: LineState) => lines.filter((line) => line.state === state).length;
  const problems = count('problem');
  const sums = [
    problems === 0 ? 'no problem found' : plural(problems, 'problem'),
    ...(count('warning') === 0 ? [] : [plural(count('warning'), 'warning')]),
    ...(count('note') === 0 ? [] : [plural(count('note'), 'note')]),
    ...counted(count('unknown'), 'not known'),
    ...counted(count('notConnected'), 'not used'),
  ];
  const printed = lines.map((line) =>
    formatStatusLine(line, (service) => `kube-proxy-wrapper explain ${service}`),
  );
  return `${printed.join('')}\n${sums.join(', ')}\n`;
}

function counted(number: number, what: string): string[] {
  return number === 0 ? [] : [`${number} ${what}`];
}
