import type { ServiceSummary } from '../src/admin/explain/service-summaries.ts';

/** Reasons why a Service is not filtered, as far as their names do not say it. */
const REASONS: Readonly<Record<string, string>> = {
  'no-policy': 'no policy',
  'local-traffic-policy': 'internal traffic policy Local',
  'kubernetes-service': 'the API server itself',
};

/** Why a Service without keys shows what it shows. */
export function reasonText({ outcome, policy }: ServiceSummary): string {
  const reason = REASONS[policy] ?? policy;
  return outcome === 'filtered' || outcome === 'unfiltered' ? reason : `${outcome}: ${reason}`;
}

/** Part of the name of a Service. Other text is not put into a path: `..` would request another path. */
const NAME = /^[a-z0-9][-a-z0-9.]*$/;

/** The path of the explanation of a Service; undefined: the name is invalid. */
export function explainPath(service: string): string | undefined {
  const names = service.split('/');
  const isValid = names.length === 2 && names.every((name) => NAME.test(name));
  return isValid ? `explain/${service}` : undefined;
}
