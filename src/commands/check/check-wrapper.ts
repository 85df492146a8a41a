import type { Table } from '../../admin/explain/table.ts';
import { requestAdmin } from '../admin-client.ts';
import { fail, ok, type Verdict } from './verdict.ts';
import { serversOf, wrapperListeners } from './wrapper-listeners.ts';

/** Reads the whole table, page by page. Throws `NotReady` while a view is not complete. */
export async function readTable(url: string): Promise<Table> {
  let all: Table | undefined;
  const query = new URLSearchParams({ limit: '500' });
  for (;;) {
    const { next, ...page } = await requestAdmin<Table>(url, `/table?${query}`);
    all = { ...page, rows: [...(all?.rows ?? []), ...page.rows] };
    if (next === undefined) return all;
    query.set('after', next);
  }
}

/** Checks /readyz of the wrapper. */
export async function checkReadiness(url: string): Promise<Verdict> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  if (response.status === 200)
    return ok('ready', 'the wrapper has everything that it needs from the API server');
  const problems = text.split('\n').filter((line) => line.startsWith('[-]'));
  const next = problems.some((line) => line.includes('403'))
    ? 'grant the missing rights: see manifests/base/cluster-role.yaml, and manifests/components for settings that need more'
    : 'see the log of the wrapper';
  return fail('ready', problems.join('; ') || `/readyz answers ${response.status}`, next);
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
