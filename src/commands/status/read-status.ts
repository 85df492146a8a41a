import type { DataAge } from '../../admin/data-age.ts';
import type { NodeSummary, ServiceList } from '../../admin/explain/node-summary.ts';
import type { Table } from '../../admin/explain/table.ts';
import type { VersionInfo } from '../../admin/version-info.ts';
import { WrapperError } from '../../errors.ts';
import type { AdminClient } from '../admin-client.ts';
import { plural } from '../format-output.ts';
import { parseReadyz, type ReadyCheck, readyProblems } from '../readyz.ts';

/** How one wrapper is doing. */
export interface WrapperStatus {
  readonly node: string;
  /** Absent: older than 1.1. */
  readonly version?: string;
  readonly dryRun: boolean;
  readonly data?: DataAge;
  /** Why traffic does not follow the policies, or soon will not. */
  readonly problems: readonly string[];
  readonly kubeProxy: KubeProxyStatus;
  /** The checks of /readyz. */
  readonly checks: readonly ReadyCheck[];
  /** Absent: not known yet. */
  readonly endpoints?: NodeSummary['endpoints'];
}

export interface KubeProxyStatus {
  /** What a client watches: Services, EndpointSlices. */
  readonly watches: readonly string[];
  /** URLs of the wrapper's listeners. */
  readonly listeners: readonly string[];
}

/** Reads everything that the screen shows. Throws `Unreachable`. */
export async function readStatus(admin: AdminClient): Promise<WrapperStatus> {
  const readyz = parseReadyz((await admin.get('/readyz')).text);
  const info = await ifAnswered(admin.request<VersionInfo>('/version'));
  const table = await ifAnswered(admin.request<Table>('/table?limit=1'));
  const summary = await ifAnswered(admin.request<NodeSummary>('/summary'));
  const data = table?.data ?? summary?.data;
  const version = info?.version ?? table?.version;
  const kubeProxy = kubeProxyOf(table);
  return {
    node: info?.node ?? table?.node ?? '',
    ...(version === undefined ? {} : { version }),
    dryRun: table?.dryRun ?? false,
    ...(data === undefined ? {} : { data }),
    problems: [
      ...(data?.warning === undefined ? [] : [data.warning]),
      // The warning names the cause of old data.
      ...readyProblems(readyz)
        .filter(({ text }) => !readyz.data.endsWith(text))
        .map(({ line }) => line),
      ...kubeProxyProblems(kubeProxy, table),
      ...serviceProblems(summary),
    ],
    kubeProxy,
    checks: readyz.checks,
    ...(summary === undefined ? {} : { endpoints: summary.endpoints }),
  };
}

/** Undefined if the wrapper cannot answer yet (/readyz says why), or is too old to have the path. */
async function ifAnswered<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof WrapperError && error.code !== 'Unreachable') return undefined;
    throw error;
  }
}

function kubeProxyOf(table: Table | undefined): KubeProxyStatus {
  if (table === undefined) return { watches: [], listeners: [] };
  const { listen, https, view, services } = table;
  return {
    watches: [
      ...((services?.clients ?? 0) > 0 ? ['Services'] : []),
      ...((view?.clients ?? 0) > 0 ? ['EndpointSlices'] : []),
    ],
    listeners: [...new Set([listen, ...(https === undefined ? [] : [https])])],
  };
}

function kubeProxyProblems(
  { watches, listeners }: KubeProxyStatus,
  table: Table | undefined,
): string[] {
  if (table === undefined || watches.length === 2) return [];
  const missing = ['Services', 'EndpointSlices'].filter((each) => !watches.includes(each));
  const what = `nobody watches ${missing.join(' and ')} through the wrapper`;
  return [`kube-proxy: ${what}; set server: ${listeners.join(' or ')} in its kubeconfig`];
}

/** Services whose policy stops their traffic on this node, or has no effect. */
function serviceProblems(summary: NodeSummary | undefined): string[] {
  if (summary === undefined) return [];
  const { withoutEndpoints, withoutReady, invalidPolicies } = summary;
  return [
    ...problemOf(withoutEndpoints, 'no endpoint is left by the policy, so connections fail'),
    ...problemOf(withoutReady, 'no ready endpoint is left by the policy, so connections fail'),
    ...problemOf(invalidPolicies, 'the policy is invalid, so all endpoints are shown'),
  ];
}

function problemOf(list: ServiceList | undefined, what: string): string[] {
  if (list === undefined || list.count === 0) return [];
  const { count, services } = list;
  const some = services.slice(0, 3).join(', ');
  const more = count > 3 ? ` and ${count - 3} more` : '';
  return [`${plural(count, 'Service')}: ${what}: ${some}${more}`];
}
