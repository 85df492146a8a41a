import { CATALOGUE, type Problem } from '../../src/diagnosis/catalogue.ts';
import { plural } from '../../src/text/numbers.ts';
import { printLine } from '../../src/text/untrusted-text.ts';
import { firstFew } from '../../src/util/first-few.ts';

/** A problem of one of many Services. */
export interface ProblemOfService extends Problem {
  /** Empty: it is not about one Service. */
  readonly service: string;
  /** Nodes, ports or slices that have it. */
  readonly subjects: readonly { readonly text: string }[];
}

/** More problems of one kind than this are summed up in one line. */
const MAX_LINES: Readonly<Record<Problem['severity'], number>> = { warning: 20, info: 5 };
/** Services that such a line names. */
const NAMED = 3;
const SIGNS: Readonly<Record<Problem['severity'], string>> = { warning: '!', info: 'i' };

/** Formats problems of one Service for a terminal, those of one kind together, each kind with what to do. */
export function formatProblems(problems: readonly Problem[]): string {
  return formatKinds(problems, (kind) => kind.map(({ message }) => message));
}

/** The same for many Services. Many problems of one kind become one line. */
export function formatProblemsOfServices(problems: readonly ProblemOfService[]): string {
  return formatKinds(problems, (kind) => {
    const [first] = kind;
    if (first === undefined || kind.length <= MAX_LINES[first.severity]) return kind.map(messageOf);
    const services = [...new Set(kind.map(({ service }) => service))];
    const names = firstFew(services, NAMED);
    const what = `${plural(services.length, 'Service')}: ${CATALOGUE[first.code].text}`;
    return [`${what} (${first.code}): ${names}; all are in -o json`];
  });
}

function formatKinds<P extends Problem>(
  problems: readonly P[],
  linesOf: (kind: readonly P[]) => readonly string[],
): string {
  const kinds = Map.groupBy(problems, ({ code, severity }) => `${severity} ${code}`);
  return Array.from(kinds.values(), (kind) => {
    const { severity, next } = kind[0] as P;
    const lines = linesOf(kind).map((line) => `${SIGNS[severity]} ${line}`);
    return [...lines, ...(next === undefined ? [] : [`    next: ${next}`])].map(printLine).join('');
  }).join('');
}

/** A finding as one line: the Service, the problem, and the number and names of what has it. */
function messageOf({ service, message, subjects }: ProblemOfService): string {
  const about = service === '' ? '' : `${service}: `;
  const number = subjects.length > 1 ? ` (${subjects.length})` : '';
  const list = firstFew(subjects.map(({ text }) => text));
  return `${about}${message}${subjects.length === 0 ? '' : `${number}: ${list}`}`;
}
