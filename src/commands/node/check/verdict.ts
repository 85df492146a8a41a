import { printLine } from '../../../untrusted-text.ts';

/**
 * - `ok`: the check passes
 * - `fail`: traffic does not follow the policies, now or soon
 * - `skip`: not known, because the check cannot be done now or from here
 * - `notYet`: the wrapper is not used yet: kube-proxy is not pointed at it, or it is a dry run
 */
export type Outcome = 'ok' | 'fail' | 'skip' | 'notYet';

/** The result of one check. */
export interface Verdict {
  readonly name: string;
  readonly outcome: Outcome;
  readonly text: string;
  /** What to do next. */
  readonly next?: string;
}

export function ok(name: string, text: string): Verdict {
  return { name, outcome: 'ok', text };
}

export function fail(name: string, text: string, next: string): Verdict {
  return { name, outcome: 'fail', text, next };
}

export function skip(name: string, text: string, next?: string): Verdict {
  return { name, outcome: 'skip', text, ...(next === undefined ? {} : { next }) };
}

const SIGNS: Readonly<Record<Outcome, string>> = {
  ok: '[ok]  ',
  fail: '[FAIL]',
  skip: '[not known]',
  notYet: '[not yet]',
};

/** One verdict for a terminal, and what to do next. */
export function verdictLines({ name, outcome, text, next }: Verdict): string {
  const advice = next === undefined ? '' : printLine(`${' '.repeat(20)}next: ${next}`);
  return `${printLine(`${SIGNS[outcome]} ${name.padEnd(12)} ${text}`)}${advice}`;
}

/** Formats verdicts for a terminal, with a summary line. */
export function formatVerdicts(verdicts: readonly Verdict[]): string {
  const lines = verdicts.map(verdictLines);
  const count = (wanted: Outcome) => verdicts.filter(({ outcome }) => outcome === wanted).length;
  const [failed, unknown, notYet] = [count('fail'), count('skip'), count('notYet')];
  const sums = [
    failed === 0 ? 'no problem found' : `${failed} ${failed === 1 ? 'problem' : 'problems'}`,
    ...(unknown > 0 ? [`${unknown} not known`] : []),
    ...(notYet > 0 ? [`${notYet} not yet`] : []),
  ];
  return `${lines.join('')}\n${sums.join(', ')}\n`;
}
