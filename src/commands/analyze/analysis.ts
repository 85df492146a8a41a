import { printLine } from '../../untrusted-text.ts';
import { plural } from '../format-output.ts';
import type { Report } from '../output/report.ts';
import { type Finding, some } from '../simulate/findings.ts';
import type { Simulation } from '../simulate/simulation.ts';

export type Severity = 'error' | 'warning' | 'info';

/** All findings of one kind. */
export interface AnalyzedKind {
  readonly code: string;
  /** `error`: traffic is lost. */
  readonly severity: Severity;
  /** What it means. */
  readonly meaning: string;
  /** What the reader can do. */
  readonly advice: string;
  readonly findings: readonly Finding[];
}

interface Kind {
  readonly severity?: Severity;
  readonly meaning: string;
  readonly advice: string;
}

/** Kinds that are known here. Others keep their severity, and their messages say what they mean. */
const KINDS: Readonly<Partial<Record<string, Kind>>> = {
  'no-endpoint': {
    severity: 'error',
    meaning: 'connections from some nodes fail, although other nodes have usable endpoints',
    advice:
      'end the policy with another key or with *, label the nodes, or accept it by --fail-on none',
  },
  'invalid-policy': {
    meaning: 'the policy cannot be read, so all endpoints are shown',
    advice: 'correct the annotation; docs/policies.md has the format',
  },
  'key-without-nodes': {
    meaning: 'no node has the label of a key, so the key has no effect',
    advice: 'check the spelling of the key, or label the nodes',
  },
  overload: {
    meaning: 'some endpoints would get much more traffic than the others',
    advice: 'add endpoints there, or use min-ready',
  },
  'key-unused': {
    meaning: 'a key does not win on any node at present',
    advice: 'nothing, if the key is for a failure of the keys before it',
  },
};

const SIGNS: Readonly<Record<Severity, string>> = { error: 'E', warning: '!', info: 'i' };
const ORDER: readonly Severity[] = ['error', 'warning', 'info'];
/** Findings of one kind that are printed without -o wide. */
const LISTED = 5;

/** Groups findings by kind, the most severe first. */
export function analyzeFindings(findings: readonly Finding[]): AnalyzedKind[] {
  // The same kind can be a warning here, and information for a dry run.
  const groups = Map.groupBy(findings, (found) => `${severityOf(found)} ${found.code}`);
  const kinds = Array.from(groups.values(), (group): AnalyzedKind => {
    const first = group[0] as Finding;
    const kind = KINDS[first.code];
    return {
      code: first.code,
      severity: severityOf(first),
      meaning: kind?.meaning ?? first.message,
      advice: kind?.advice ?? '',
      findings: group,
    };
  });
  return kinds.sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
}

function severityOf({ code, severity }: Finding): Severity {
  return severity === 'info' ? 'info' : (KINDS[code]?.severity ?? severity);
}

/** What was found, by kind. */
export function analysisReport(
  { services, nodes }: Simulation,
  kinds: readonly AnalyzedKind[],
): Report {
  const looked = `${plural(services.length, 'Service')} on ${plural(nodes.length, 'node')}`;
  return {
    data: { nodes: nodes.length, services: services.length, kinds },
    text: ({ wide, headers }) => {
      const end = printLine(`${summaryOf(kinds)} in ${looked}`);
      return `${kinds.map((kind) => formatKind(kind, wide)).join('')}${headers ? end : ''}`;
    },
  };
}

function formatKind(
  { code, severity, meaning, advice, findings }: AnalyzedKind,
  wide: boolean,
): string {
  const title = printLine(`${SIGNS[severity]} ${code} (${findings.length}): ${meaning}`);
  const next = advice === '' ? '' : printLine(`    next: ${advice}`);
  const listed = wide ? findings : findings.slice(0, LISTED);
  const lines = listed.map(({ service, message, subjects }) => {
    const texts = some(subjects.map(({ text }) => text));
    const what = subjects.length === 0 ? message : `${message}: ${texts}`;
    return printLine(`    ${service === '' ? '' : `${service}: `}${what}`);
  });
  const rest = findings.length - listed.length;
  const more = rest === 0 ? '' : printLine(`    and ${rest} more; see -o wide`);
  return `${title}${lines.join('')}${more}${next}\n`;
}

function summaryOf(kinds: readonly AnalyzedKind[]): string {
  const counts = ORDER.map((severity) => {
    const found = kinds.filter((kind) => kind.severity === severity);
    return found.reduce((sum, { findings }) => sum + findings.length, 0);
  });
  const [errors = 0, warnings = 0, infos = 0] = counts;
  if (errors + warnings + infos === 0) return 'no problem found';
  return `${plural(errors, 'error')}, ${plural(warnings, 'warning')}, ${infos} for information`;
}
