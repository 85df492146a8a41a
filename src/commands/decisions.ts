import type { DecisionRecord, Decisions } from '../admin/explain/decisions.ts';
import type { AdminClient } from './admin-client.ts';
import { type Call, EXIT } from './command.ts';
import { type Flags, numberFlag } from './flags.ts';
import { formatTable, type Report } from './output/report.ts';
import { namespaceFlag, type ServiceName, serviceArgument } from './service-argument.ts';
import { watchChanges } from './watch-changes.ts';

/** Executes `decisions`. */
export async function executeDecisions({ flags, args, session }: Call): Promise<number> {
  const service = serviceArgument(args, flags);
  const admin = await session.openAdmin(flags);
  try {
    if (flags.watch !== true) {
      await session.print(await decisionsReport(admin, flags, service), flags);
      return EXIT.ok;
    }
    let last: number | undefined;
    await watchChanges(session, async () => {
      const answer = await readDecisions(admin, flags, service, last);
      if (last === undefined || answer.decisions.length > 0) {
        await session.print(reportOf(answer, last === undefined), flags);
      }
      last = answer.count;
    });
    return EXIT.ok;
  } finally {
    admin.close();
  }
}

/** The latest changes of decisions of one wrapper. */
export async function decisionsReport(
  admin: AdminClient,
  flags: Flags,
  service: ServiceName | undefined,
): Promise<Report> {
  return reportOf(await readDecisions(admin, flags, service), true);
}

/** @param after number of the last change that is known */
async function readDecisions(
  admin: AdminClient,
  flags: Flags,
  service: ServiceName | undefined,
  after = 0,
): Promise<Decisions> {
  const limit = numberFlag(flags, 'limit', ' of changes', 500);
  const query = new URLSearchParams({ limit: String(limit), after: String(after) });
  const answer = await admin.request<Decisions>(`/decisions?${query}`);
  const namespace = namespaceFlag(flags);
  const wanted = ({ service: name }: DecisionRecord): boolean =>
    service === undefined
      ? namespace === undefined || name.startsWith(`${namespace}/`)
      : name === `${service.namespace}/${service.name}`;
  return { ...answer, decisions: answer.decisions.filter(wanted) };
}

function reportOf(answer: Decisions, withHeader: boolean): Report {
  const table = tableOf(answer.decisions);
  return {
    data: answer,
    text: ({ headers, wide }) => formatTable(table, { wide, headers: headers && withHeader }),
  };
}

function tableOf(decisions: readonly DecisionRecord[]): string[][] {
  const header = ['NUMBER', 'TIME', 'SERVICE', 'FROM', 'TO', 'KEPT', 'CAUSE'];
  const lines = decisions.map(
    ({ number, time, service, from, to, keptBefore, keptAfter, cause }) => [
      String(number),
      time,
      service,
      from ?? '-',
      to ?? '-',
      `${keptBefore ?? 'all'} > ${keptAfter ?? 'all'}`,
      'subject' in cause && cause.subject !== '' ? `${cause.kind}: ${cause.subject}` : cause.kind,
    ],
  );
  return [header, ...lines];
}
