import type { Decisions } from '../admin/explain/decisions.ts';
import type { Explained } from '../admin/explain/explained-service.ts';
import type { Summary } from '../admin/explain/summary.ts';
import { WrapperError } from '../errors.ts';
import type { AdminClient } from './admin-client.ts';
import { type Call, EXIT } from './command.ts';
import { formatExplained, formatSummary } from './explain-text.ts';
import { type Flags, textFlag } from './flags.ts';
import type { Report } from './output/report.ts';
import { readPages } from './paged.ts';
import {
  namespaceFlag,
  type ServiceName,
  serviceArgument,
  servicePath,
} from './service-argument.ts';
import { watchChanges } from './watch-changes.ts';

/** Executes `explain`. */
export async function executeExplain({ flags, args, session }: Call): Promise<number> {
  const service = serviceArgument(args, flags);
  const admin = await session.openAdmin(flags);
  try {
    const print = (report: Report) => session.print(report, flags);
    if (flags.watch !== true) await print(await explainReport(admin, flags, service));
    else if (service === undefined) await watchAll(admin, flags, session, print);
    else await watchOne(admin, service, session, print);
    return EXIT.ok;
  } finally {
    admin.close();
  }
}

/** What one wrapper says about all Services, or one. */
export async function explainReport(
  admin: AdminClient,
  flags: Flags,
  service: ServiceName | undefined,
): Promise<Report> {
  if (service === undefined) return reportAll(await readAll(admin, flags));
  return reportOne(await readOne(admin, service));
}

async function readOne(admin: AdminClient, service: ServiceName): Promise<Explained> {
  return await admin.request<Explained>(`/explain/${servicePath(service)}`);
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

function reportOne(explained: Explained): Report {
  return {
    data: explained,
    text: () => formatExplained(explained),
  };
}

function reportAll(summary: Summary): Report {
  return { data: summary, text: (style) => formatSummary(summary, style) };
}

/** Prints a Service again when what is said about it changes. */
async function watchOne(
  admin: AdminClient,
  service: ServiceName,
  session: Call['session'],
  print: (report: Report) => Promise<void>,
): Promise<void> {
  let last = '';
  await watchChanges(session, async () => {
    const explained = await readOne(admin, service);
    const { data, view, ...content } = explained;
    const now = JSON.stringify([content, data?.unreachableSince]);
    if (now === last) return;
    if (last !== '') await print(separator());
    last = now;
    await print(reportOne(explained));
  });
}

function separator(): Report {
  return { data: null, text: () => `\n--- ${new Date().toISOString()}\n` };
}

/** Prints all Services, and then those whose decision changes. */
async function watchAll(
  admin: AdminClient,
  flags: Flags,
  session: Call['session'],
  print: (report: Report) => Promise<void>,
): Promise<void> {
  const known = new Map<string, string>();
  let count: number | undefined;
  await watchChanges(session, async () => {
    // The number of changes is cheap to read, all Services are not.
    const decisions = await admin.request<Decisions>('/decisions?limit=1');
    if (decisions.count === count) return;
    const summary = await readAll(admin, flags);
    const changed = summary.services.filter((each) => {
      const { since, ...content } = each;
      const text = JSON.stringify([content, since]);
      if (known.get(each.service) === text) return false;
      known.set(each.service, text);
      return true;
    });
    const isFirst = count === undefined;
    count = decisions.count;
    if (isFirst) await print(reportAll(summary));
    else if (changed.length > 0) await print(withoutHeader({ ...summary, services: changed }));
  });
}

function withoutHeader(summary: Summary): Report {
  const report = reportAll(summary);
  return {
    ...report,
    text: ({ wide }) => formatSummary(summary, { wide, headers: false }),
  };
}
