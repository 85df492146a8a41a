import { printLine } from '../../untrusted-text.ts';
import { plural } from '../format-output.ts';
import { type Finding, formatFinding, some } from './findings.ts';

/** More findings of one kind than this are summed up in one line. */
const MAX_LINES: Readonly<Record<Finding['severity'], number>> = { warning: 20, info: 5 };
/** Services that such a line names. */
const NAMED = 3;

/** Formats findings for a terminal, those of one kind together. Many of one kind become one line. */
export function formatFindings(findings: readonly Finding[]): string {
  const kinds = Map.groupBy(findings, ({ code, severity }) => `${severity} ${code}`);
  return [...kinds.values()].map(formatKind).join('');
}

function formatKind(findings: readonly Finding[]): string {
  const [first] = findings;
  if (first === undefined || findings.length <= MAX_LINES[first.severity]) {
    return findings.map(formatFinding).join('');
  }
  const services = [...new Set(findings.map(({ service }) => service))];
  const sign = first.severity === 'warning' ? '!' : 'i';
  const what = `${plural(services.length, 'Service')}: ${MEANINGS[first.code] ?? first.code}`;
  return printLine(`${sign} ${what} (${first.code}): ${some(services, NAMED)}; all are in -o json`);
}

/** What a kind means, without the names of a single finding. */
const MEANINGS: Readonly<Partial<Record<string, string>>> = {
  'no-endpoint': 'no endpoint left on some nodes',
  overload: 'endpoints get much more than the mean load',
  'invalid-policy': 'the policy is invalid, so all endpoints are shown',
  'key-unused': 'a key does not win on any node at present',
};
