import type { Table } from '../../admin/explain/table.ts';
import type { ResponseHead } from '../../admin/version-info.ts';
import type { AdminClient } from '../admin-client.ts';
import { readPages } from '../paged.ts';
import { parseReadyz, readyProblems } from '../readyz.ts';
import { fail, ok, type Verdict } from './verdict.ts';
import { serversOf, wrapperListeners } from './wrapper-listeners.ts';

/** Reads the whole table, page by page. Throws `NotReady` while a view is not complete. */
export async function readTable(admin: AdminClient): Promise<Table> {
  return await readPages<Table, 'rows'>(admin, '/table', 'rows', new URLSearchParams());
}

/** Checks that the data is not old. Wrappers before 1.1 do not report its age. */
export function checkData({ data }: Partial<ResponseHead>): Verdict[] {
  if (data === undefined) return [];
  if (data.warning === undefined) return [ok('data', 'it is up to date')];
  const next = 'check the API server and the network of this node; until then nothing changes here';
  return [fail('data', data.warning, next)];
}

/** Checks /readyz of the wrapper. */
export async function checkReadiness(admin: AdminClient): Promise<Verdict> {
  const { statusCode, text } = await admin.get('/readyz');
  if (statusCode === 200)
    return ok('ready', 'the wrapper has everything that it needs from the API server');
  const problems = readyProblems(parseReadyz(text)).map(({ line }) => line);
  const next = problems.some((line) => line.includes('403'))
    ? 'grant the missing rights: see manifests/base/cluster-role.yaml, and manifests/components for settings that need more'
    : 'see the log of the wrapper';
  return fail('ready', problems.join('; ') || `/readyz answers ${statusCode}`, next);
}

/** Checks that a client watches Services and EndpointSlices. */
export function checkWatches(table: Table): Verdict {
  const { view, services } = table;
  const missing = [
    ...((view?.clients ?? 0) === 0 ? ['EndpointSlices'] : []),
    ...((services?.clients ?? 0) === 0 ? ['Services'] : []),
  ];
  if (missing.length === 0) {
    return ok('watches', 'a client of the wrapper watches Services and EndpointSlices');
  }
  return fail(
    'watches',
    `nobody watches ${missing.join(' and ')} through the wrapper`,
    `set server: ${serversOf(wrapperListeners(table))} in the kubeconfig of kube-proxy, and restart it`,
  );
}
