import type { Service } from './service.ts';

/** `error`: traffic fails on this node; `warning`: probably a mistake; `info`: intended, but worth knowing. */
export type Severity = 'error' | 'warning' | 'info';

const ORDER: readonly Severity[] = ['error', 'warning', 'info'];
/** Codes of warnings about Services whose traffic fails, unless the policy is a dry run. */
const FAILING: readonly string[] = ['nothing-matches', 'none-ready'];

export function severityOf(code: string, severity: 'info' | 'warning', dryRun: boolean): Severity {
  return severity === 'warning' && !dryRun && FAILING.includes(code) ? 'error' : severity;
}

/** The warnings of a Service, the most severe first. */
export function warningsOf({ warnings, dryRun }: Service) {
  return warnings
    .map((code) => ({ code, severity: severityOf(code, 'warning', dryRun) }))
    .sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
}

/** All warnings of one kind. */
export interface WarningGroup {
  readonly code: string;
  readonly severity: Severity;
  /** Number of Services. */
  readonly count: number;
}

/** The warnings of Services by kind, the most severe and then the most frequent first. */
export function groupWarnings(services: readonly Service[]): WarningGroup[] {
  const groups = new Map<string, WarningGroup>();
  for (const { warnings, dryRun } of services) {
    for (const code of warnings) {
      const severity = severityOf(code, 'warning', dryRun);
      const { count = 0, severity: before = severity } = groups.get(code) ?? {};
      const worst = ORDER.indexOf(before) < ORDER.indexOf(severity) ? before : severity;
      groups.set(code, { code, severity: worst, count: count + 1 });
    }
  }
  return [...groups.values()].sort(
    (a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity) || b.count - a.count,
  );
}

const SIGNS: Readonly<Record<Severity, readonly [sign: string, text: string]>> = {
  error: ['✕', 'traffic fails'],
  warning: ['▲', 'warning'],
  info: ['i', 'note'],
};

/** A sign with a form and a colour of its own. */
export function Sign({ severity }: { readonly severity: Severity }) {
  const [sign, text] = SIGNS[severity];
  return (
    <span class={`sign ${severity}`}>
      <span aria-hidden="true">{sign}</span>
      <span class="sr">{text}:</span>
    </span>
  );
}
