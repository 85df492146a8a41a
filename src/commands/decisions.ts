import type { DecisionRecord, Decisions } from '../admin/explain/decisions.ts';
import type { AdminClient } from './admin-client.ts';
import { type Call, EXIT } from './command.ts';
import { type Flags, numberFlag } from './flags.ts';
import { formatTable, type Report } from './output/report.ts';
import { namespaceFlag, type ServiceName, serviceArgument } from './service-argument.ts';

/** Executes `decisions`. */
export async function executeDecisions({ flags, args, session }: Call): Promise<number> {
  const service = serviceArgument(args, flags);
  const admin = await session.openAdmin(flags);
  try {
    await session.print(await decisionsReport(admin, flags, service), flags);
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
  const answer = await readDecisions(admin, flags, service);
  return { data: answer, text: (style) => formatTable(tableOf(answer.decisions), style) };
}

async function readDecisions(
  admin: AdminClient,
  flags: Flags,
  service: ServiceName | undefined,
): Promise<Decisions> {
  const limit = numberFlag(flags, 'limit', ' of changes', 500);
  const query = new URLSearchParams({ limit: String(limit) });
  const answer = await admin.request<Decisions>(`/decisions?${query}`);
  const namespace = namespaceFlag(flags);
  const wanted = ({ service: name }: DecisionRecord): boolean =>
    service === undefined
      ? namespace === undefined || name.startsWith(`${namespace}/`)
      : name === `${service.namespace}/${service.name}`;
  return { ...answer, decisions: answer.decisions.filter(wanted) };
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
