import type { ServiceSummary } from '../src/admin/explain/service-summaries.ts';
import { FAILING_CODES, type Problem } from '../src/diagnosis/catalogue.ts';

/** `error`: traffic fails on this node; `warning`: probably a mistake; `info`: intended, but worth knowing. */
export type Severity = 'error' | Problem['severity'];

const ORDER: readonly Severity[] = ['error', 'warning', 'info'];

export function severityOf(code: string, severity: Problem['severity'], dryRun: boolean): Severity {
  return severity === 'warning' && !dryRun && FAILING_CODES.includes(code) ? 'error' : severity;
}

/** The warnings of a Service, the most severe first. */
export function warningsOf({ warnings, dryRun }: ServiceSummary) {
  return warnings
    .map((code) => ({ code, severity: severityOf(code, 'warning', dryRun) }))
    .sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
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
