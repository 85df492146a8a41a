import type { Diff } from '../../admin/explain/diff.ts';
import type { Explained } from '../../admin/explain/explained-service.ts';
import type { Summary } from '../../admin/explain/summary.ts';
import { WrapperError } from '../../errors.ts';
import type { AdminClient } from '../client/admin-client.ts';
import { type Call, EXIT } from '../command-line/command.ts';
import { type Flags, textFlag, UsageError } from '../command-line/flags.ts';
import {
  namespaceFlag,
  type ServiceName,
  selectorFlag,
  serviceArgument,
  servicePath,
} from '../command-line/service-argument.ts';
import type { Report } from '../output/report.ts';
import { formatDiff } from './diff-text.ts';
import { formatExplained, formatSummary } from './explain-text.ts';
import { readPages } from './paged.ts';

/** Executes `explain`. */
export async function executeExplain({ flags, args, session }: Call): Promise<number> {
  const service = serviceArgument(args, flags);
  selectorFlag(flags);
  const admin = await session.openAdmin(flags);
  try {
    await session.print(await explainReport(admin, flags, service), flags);
    return EXIT.ok;
  } finally {
    await admin.close();
  }
}

/** What one wrapper says about all Services, or one. */
export async function explainReport(
  admin: AdminClient,
  flags: Flags,
  service: ServiceName | undefined,
): Promise<Report> {
  if (service === undefined) {
    if (flags.diff === true) throw new UsageError('--diff needs a Service: NAMESPACE/SERVICE');
    const summary = await readAll(admin, flags);
    return { data: summary, text: (style) => formatSummary(summary, style) };
  }
  if (flags.diff === true) {
    const diff = await admin.request<Diff>(`/diff/${servicePath(service)}`);
    return { data: diff, text: () => formatDiff(diff) };
  }
  const explained = await admin.request<Explained>(`/explain/${servicePath(service)}`);
  return { data: explained, text: () => formatExplained(explained) };
}

async function readAll(admin: AdminClient, flags: Flags): Promise<Summary> {
  const query = new URLSearchParams();
  const namespace = namespaceFlag(flags);
  if (namespace !== undefined) query.set('namespace', namespace);
  if (flags.warnings === true) query.set('warnings', 'true');
  const labelSelector = textFlag(flags, 'selector');
  if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
  const summary = await readPages<Summary, 'services'>(admin, '/explain', 'services', query);
  // An older wrapper ignores the selector and would list all Services.
  if (labelSelector !== undefined && summary.labelSelector === undefined) {
    const what = 'the wrapper is older than 1.1 and cannot select by label; leave out --selector';
    throw new WrapperError('NotReady', what);
  }
  return summary;
}
