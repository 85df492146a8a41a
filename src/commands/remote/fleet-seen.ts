import type { Explained } from '../../admin/explain/explained-service.ts';
import type { Summary } from '../../admin/explain/summary.ts';
import { WrapperError } from '../../errors.ts';
import type { AdminClient } from '../admin-client.ts';
import { type Flags, textFlag } from '../flags.ts';
import { readPages } from '../paged.ts';
import { type ServiceName, servicePath } from '../service-argument.ts';
import type { Expected, Sight } from './fleet-expected.ts';
import type { ComparedService, NodeComparison } from './fleet-report.ts';

/** What one node really sees, by Service. */
export interface Seen {
  readonly version?: string;
  /** Why its data is old; absent: it is current. */
  readonly warning?: string;
  readonly services: ReadonlyMap<string, Sight>;
}

/** Reads what the node of a wrapper sees. @param service undefined: all Services */
export async function readSeen(
  admin: AdminClient,
  flags: Flags,
  service: ServiceName | undefined,
): Promise<Seen> {
  return service === undefined ? await readAll(admin, flags) : await readOne(admin, service);
}

async function readAll(admin: AdminClient, flags: Flags): Promise<Seen> {
  const query = new URLSearchParams();
  const namespace = textFlag(flags, 'namespace');
  if (namespace !== undefined) query.set('namespace', namespace);
  const summary = await readPages<Summary, 'services'>(admin, '/explain', 'services', query);
  const sights = summary.services.map((each): [string, Sight] => [
    each.service,
    {
      outcome: each.outcome,
      winners: each.winners.toSorted(),
      shown: each.kept,
      total: each.total,
    },
  ]);
  return { ...headOf(summary), services: new Map(sights) };
}

async function readOne(admin: AdminClient, service: ServiceName): Promise<Seen> {
  const explained = await answerOf(admin, service);
  if (explained === undefined) return { services: new Map() };
  const { outcome, winners, counts, endpoints, omitted } = explained;
  const kept = endpoints.filter((each) => each.kept).map(({ address }) => address);
  const sight: Sight = {
    outcome: outcome.kind,
    winners: winners.toSorted(),
    shown: counts.kept,
    total: counts.total,
    ...(omitted === 0 ? { addresses: kept.sort() } : {}),
  };
  return { ...headOf(explained), services: new Map([[explained.service, sight]]) };
}

/** Undefined: the wrapper does not know the Service. That is a difference, not an error. */
async function answerOf(admin: AdminClient, service: ServiceName): Promise<Explained | undefined> {
  try {
    return await admin.request<Explained>(`/explain/${servicePath(service)}`);
  } catch (error) {
    if (error instanceof WrapperError && error.code === 'NotFound') return undefined;
    throw error;
  }
}

/** Wrappers before 1.1 report neither their version nor the age of their data. */
function headOf({
  version,
  data,
}: Partial<Pick<Summary, 'version' | 'data'>>): Omit<Seen, 'services'> {
  return {
    ...(version === undefined ? {} : { version }),
    ...(data?.warning === undefined ? {} : { warning: data.warning }),
  };
}

/** Compares what a node sees with what is expected of it. */
export function compareNode(node: string, seen: Seen, expected: Expected): NodeComparison {
  const rows = [...expected.services].sort().map((service): ComparedService => {
    const sees = seen.services.get(service);
    const should = expected.sightOf(node, service);
    return {
      service,
      ...(sees === undefined ? {} : { sees }),
      ...(should === undefined ? {} : { expected: should }),
    };
  });
  const { services, ...head } = seen;
  return { node, ...head, rows, differences: rows.filter(differs) };
}

function differs({ sees, expected }: ComparedService): boolean {
  if (sees === undefined || expected === undefined) return sees !== expected;
  if (sees.outcome !== expected.outcome) return true;
  // kube-proxy does not see a hidden Service at all.
  if (sees.outcome === 'hidden' || sees.outcome === 'withheld') return false;
  return textOf(sees, expected) !== textOf(expected, sees);
}

/** Everything that both know. */
function textOf({ winners, shown, total, addresses }: Sight, other: Sight): string {
  const both = other.addresses === undefined ? undefined : addresses;
  return JSON.stringify([winners, shown, total, both]);
}
