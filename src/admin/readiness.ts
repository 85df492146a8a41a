import { queryPath } from '../proxy/api/query.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import type { ReflectorStatus } from '../proxy/reflector/reflector.ts';
import type { ViewSource } from '../proxy/views/view-source.ts';
import { consequenceOfRefusal } from '../topology/state/node-set.ts';

/** One line of /readyz. */
export interface Check {
  readonly name: string;
  /** Why not; undefined: all is well. */
  readonly problem: string | undefined;
  /** What is not well, but says nothing about the answers. */
  readonly remark?: string | undefined;
}

/** An interruption of the API server shorter than this is no reason to call the node unready, in milliseconds. */
const GRACE_MS = 10_000;

/**
 * What readiness depends on. A view whose API server is away is served as it was, but not called ready: its
 * age matters to whoever asks.
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
    // Kube-proxy is served all the same, so the node is ready.
    checks.push({ name: 'view-budget', problem: undefined, remark: `but ${remark}` });
  }
  for (const source of proxy.views.sources) checks.push(viewCheck(proxy, source));
  for (const [selector, status] of proxy.nodeSets.statuses) {
    const set = proxy.topology.nodeSets.get(selector);
    // No answer depends on a set that only lingers.
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
  // Whoever asks a bad question hears so, and says nothing about this node.
  return {
    name,
    problem: undefined,
    remark:
      refusal.code === 'LimitExceeded'
        ? `but it is not served: ${refusal.message}`
        : `but the API server does not take it: ${refusal.message}`,
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
  return `stale, the API server was last heard of ${Math.round(silentMs / 1000)} s ago${reason}`;
}

function startProblem(started: boolean): string | undefined {
  return started ? undefined : 'waits for the own Node, the Services or a node set';
}
