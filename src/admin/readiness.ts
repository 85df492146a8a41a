import { queryPath } from '../proxy/api/query.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import type { ReflectorStatus } from '../proxy/reflector/reflector.ts';
import type { ViewSource } from '../proxy/views/view-source.ts';
import { consequenceOfRefusal } from '../topology/state/node-set.ts';

/** One line of /readyz. */
export interface Check {
  readonly name: string;
  /** Why the check fails; undefined: it passes. */
  readonly problem: string | undefined;
  /** A problem that does not affect what clients see. */
  readonly remark?: string | undefined;
}

/** An interruption of the API server that is shorter than this does not make the node unready, in milliseconds. */
const GRACE_MS = 10_000;

/**
 * The checks of /readyz. While the API server is unreachable, views are still served, but they are not ready, because
 * their data is old.
 */
export function readiness(proxy: NodeProxy): Check[] {
  const checks: Check[] = [
    {
      name: 'own-node',
      problem: proxy.views.ownNodeExists
        ? undefined
        : `there is no Node ${JSON.stringify(proxy.topology.nodeName)}, or it has not been read yet`,
    },
  ];
  const { certificate } = proxy.listeners;
  if (certificate !== undefined) {
    checks.push({ name: 'https-certificate', problem: certificate.problem(Date.now()) });
  }
  const { snapshots } = proxy;
  if (snapshots !== undefined) {
    const remark = snapshots.problem && `but cannot be written: ${snapshots.problem}`;
    checks.push({ name: 'snapshots', problem: undefined, remark });
  }
  const { remark } = proxy.views.budget;
  if (remark !== undefined) {
    // kube-proxy is still served, so the node is ready.
    checks.push({ name: 'view-budget', problem: undefined, remark: `but ${remark}` });
  }
  for (const source of proxy.views.sources) checks.push(viewCheck(proxy, source));
  for (const [selector, status] of proxy.nodeSets.statuses) {
    const set = proxy.topology.nodeSets.get(selector);
    // No view depends on a set that no policy needs any more.
    if (set?.needed !== true) continue;
    const refused = set.refusal && `${set.refusal}; ${consequenceOfRefusal(set)}`;
    checks.push({ name: `nodes ${selector}`, problem: refused ?? problemOf(status) });
  }
  for (const { selector, state, refusal } of proxy.topology.nodeSets.values()) {
    if (state !== 'overLimit') continue;
    const remark = `but not watched: ${refusal}; only this node itself counts as one of them`;
    checks.push({ name: `nodes ${selector}`, problem: undefined, remark });
  }
  for (const { query, status, refusal } of proxy.clusterWatchers.sources) {
    const name = `source ${queryPath(query)}`;
    checks.push({ name, problem: refusal ?? problemOf(status) });
  }
  return checks;
}

function viewCheck({ views }: NodeProxy, source: ViewSource): Check {
  const { query, view, status } = source;
  const name = `view ${query.encoding} ${queryPath(query)}`;
  const refusal = views.refusalOf(source);
  if (refusal === undefined) {
    return { name, problem: problemOf(status) ?? startProblem(view.started) };
  }
  // The client of a refused query receives the error. This node is ready all the same.
  return {
    name,
    problem: undefined,
    remark:
      refusal.code === 'LimitExceeded'
        ? `but it is not served: ${refusal.message}`
        : `but the API server refuses the query: ${refusal.message}`,
  };
}

function problemOf(status: ReflectorStatus): string | undefined {
  const { restoredFrom, synced, staleMs, silentMs, error } = status;
  const reason = error === undefined ? '' : `: ${error.message}`;
  if (restoredFrom !== undefined) {
    const saved = new Date(restoredFrom).toISOString();
    return `stale, from the snapshot written ${saved}; the API server has not listed since${reason}`;
  }
  if (!synced) return `not synced yet${reason}`;
  if (staleMs < GRACE_MS) return undefined;
  return `stale, the last contact with the API server was ${Math.round(silentMs / 1000)} s ago${reason}`;
}

function startProblem(started: boolean): string | undefined {
  return started ? undefined : 'waits for the Node of this wrapper, the Services or a node set';
}
