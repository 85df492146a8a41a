import type { Diff } from '../../src/admin/explain/diff.ts';
import type { Explained } from '../../src/admin/explain/explained-service.ts';
import type { ServiceSummaries } from '../../src/admin/explain/service-summaries.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../client/admin-client.ts';
import { readPages } from '../client/read-pages.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import {
  type ServiceFlags,
  type ServiceName,
  serviceArgument,
  servicePath,
} from '../command-line/service-argument.ts';
import { UsageError } from '../command-line/usage-error.ts';
import type { Report, TextStyle } from '../output/report.ts';
import { formatDiff } from './diff-text.ts';
import { formatExplained, formatSummaries } from './explain-text.ts';

/** Which Services are explained, and how. */
export interface ExplainFlags extends ServiceFlags {
  readonly diff?: boolean;
}

export interface LocalExplainFlags extends ExplainFlags, AdminFlags {}

/** Executes `explain`. */
export async function executeExplain({ flags, args }: Call<LocalExplainFlags>): Promise<Result> {
  const service = explainedService(args, flags);
  const report = await withAdmin(flags, (admin) => explainReport(admin, flags, service));
  return { code: EXIT.ok, report };
}

/** The Service that is explained; undefined: all. Throws UsageError. */
export function explainedService(
  args: readonly string[],
  flags: ExplainFlags,
): ServiceName | undefined {
  const service = serviceArgument(args, flags);
  if (service === undefined && flags.diff === true)
    throw new UsageError('--diff needs a Service: NAMESPACE/SERVICE');
  return service;
}

/** What one wrapper says, by what was asked. */
export type ExplainReport =
  | (Report<ServiceSummaries> & { readonly kind: 'services' })
  | (Report<Diff> & { readonly kind: 'diff' })
  | (Report<Explained> & { readonly kind: 'service' });

/** What one wrapper says about all Services, or one. */
export async function explainReport(
  admin: AdminClient,
  flags: ExplainFlags,
  service: ServiceName | undefined,
): Promise<ExplainReport> {
  if (service === undefined) {
    const summary = await readAll(admin, flags);
    const text = (style: TextStyle) => formatSummaries(summary, style, chosenBy(flags));
    return { kind: 'services', data: summary, text };
  }
  if (flags.diff === true) {
    const diff = await admin.request<Diff>(`/diff/${servicePath(service)}`);
    return { kind: 'diff', data: diff, text: () => formatDiff(diff) };
  }
  const explained = await admin.request<Explained>(`/explain/${servicePath(service)}`);
  return { kind: 'service', data: explained, text: () => formatExplained(explained) };
}

/** Which Services the flags choose, after the word Services. */
export function chosenBy({ namespace, warnings, selector }: ExplainFlags): string {
  return [
    warnings === true ? ' with warnings' : '',
    selector === undefined ? '' : ` with labels ${selector}`,
    namespace === undefined ? '' : ` in namespace ${namespace}`,
  ].join('');
}

async function readAll(
  admin: AdminClient,
  { namespace, warnings, selector }: ExplainFlags,
): Promise<ServiceSummaries> {
  const query = new URLSearchParams();
  if (namespace !== undefined) query.set('namespace', namespace);
  if (warnings === true) query.set('warnings', 'true');
  if (selector !== undefined) query.set('labelSelector', selector);
  return await readPages<ServiceSummaries, 'services'>(admin, '/explain', 'services', query);
}
