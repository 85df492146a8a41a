import type { ReflectorStatus } from '../../client/reflector/reflector.ts';
import type { ProxyState } from '../../server/node-proxy.ts';
import { consequenceOfRefusal } from '../../topology/state/node-set.ts';
import type { Collections, NodeSetReading, ViewReading } from './collections.ts';
import { GRACE_MS } from './data-age.ts';

/** One line of /readyz. */
export interface Check {
  readonly name: string;
  /** Why the check fails; absent: it passes. */
  readonly problem?: string;
  /**
   * What the problem says about its cause:
   * - `stale`: the data is old, as dataAge() reports for all collections
   * - `starting`: the collection has not been read yet, without an error so far
   * - `unsynced`: the collection cannot be read
   * - `forbidden`: the API server does not let the wrapper read it (403)
   * - `waits`: another check probably fails, too
   */
  readonly nature?: 'stale' | 'starting' | 'unsynced' | 'forbidden' | 'waits';
  /**
   * A problem that does not affect what clients see now, but later or elsewhere. The check passes. If it failed, a
   * roll-out that corrects the problem would stop.
   */
  readonly degraded?: string;
  /** What is worth knowing. */
  readonly remark?: string;
}

/**
 * The checks of /readyz. While the API server is unreachable, views are still served, but they are not ready, because
 * their data is old.
 */
export function readiness(proxy: ProxyState, { views, nodeSets, sources }: Collections): Check[] {
  return [
    ownNodeCheck(proxy),
    ...certificateChecks(proxy),
    ...snapshotChecks(proxy),
    ...budgetChecks(proxy),
    ...localRuntimeChecks(proxy),
    ...views.map(viewCheck),
    ...nodeSets.flatMap(nodeSetChecks),
    ...sources.map(({ path, status, refusal }) => ({
      name: `source ${path}`,
      ...(refusal === undefined ? problemOfStatus(status) : forbiddenFailure(refusal)),
    })),
  ];
}

/** The check that fails if there is no Node of this name. */
export const OWN_NODE = 'own-node';

function ownNodeCheck({ views, topology }: ProxyState): Check {
  const node = JSON.stringify(topology.nodeName);
  const problem = views.ownNodeExists
    ? undefined
    : `there is no Node ${node}, or it has not been read yet`;
  return { name: OWN_NODE, problem, nature: 'waits' };
}

function certificateChecks({ listeners: { certificate } }: ProxyState): Check[] {
  if (certificate === undefined) return [];
  return [{ name: 'https-certificate', problem: certificate.problem(Date.now()) }];
}

function snapshotChecks({ snapshots }: ProxyState): Check[] {
  if (snapshots === undefined) return [];
  const { problem } = snapshots;
  const degraded =
    problem && `the state cannot be written, so the next start may lack it: ${problem}`;
  return [{ name: 'snapshots', degraded }];
}

/** kube-proxy is served even if the budget is exhausted, so the node is ready. */
function budgetChecks({ views: { budget } }: ProxyState): Check[] {
  if (budget.remark === undefined) return [];
  return [{ name: 'view-budget', remark: `but ${budget.remark}` }];
}

/** While the API server answers, nothing that clients see depends on the container runtime. */
function localRuntimeChecks({ localRuntime }: ProxyState): Check[] {
  if (localRuntime === undefined) return [];
  const { socket, problem, corrections } = localRuntime;
  const since = Math.min(...corrections.map(({ since }) => since));
  const degraded =
    problem &&
    `the container runtime at ${socket} cannot be read, so endpoints of this node are not corrected while the API server is unreachable: ${problem}`;
  const corrected = `but ${corrections.length} endpoints of this node are corrected from the container runtime`;
  const remark =
    corrections.length === 0
      ? undefined
      : `${corrected}, the first since ${new Date(since).toISOString()}`;
  return [{ name: 'local-runtime', degraded, remark }];
}

/** How the names of checks of node sets begin. */
export const NODE_SET_PREFIX = 'nodes ';

function nodeSetChecks(set: NodeSetReading): Check[] {
  const { selector, needed, status, refusal } = set;
  const name = `${NODE_SET_PREFIX}${selector}`;
  const refused = refusal && `${refusal}; ${consequenceOfRefusal(set)}`;
  if (status === undefined) return [{ name, degraded: `not watched: ${refused}` }];
  // No view depends on a set that no policy needs any more.
  if (!needed) return [];
  // Before the first list, clients wait until the node sets are known. Afterwards an annotation must not make the node
  // unready.
  return [
    refused === undefined ? newQueryCheck(name, status) : { name, ...forbiddenFailure(refused) },
  ];
}

function viewCheck({ query, path, isKubeProxys, started, refusal, status }: ViewReading): Check {
  const name = `view ${query.encoding} ${path}`;
  if (refusal === undefined) {
    // kube-proxy does not depend on what other clients have just asked for.
    if (!isKubeProxys && isBeingRead(status)) return newQueryCheck(name, status);
    const problem = problemOfStatus(status);
    const remark = listRemark(status);
    // Its last state is served. Only views of other clients than kube-proxy can lack room in the budget.
    if (status.error?.code === 'LimitExceeded' && !isKubeProxys) {
      return { name, degraded: problem.problem ?? status.error.message };
    }
    return problem.problem === undefined
      ? { name, problem: startProblem(started), nature: 'waits', remark }
      : { name, ...problem };
  }
  // The client of a refused query receives the error. This node is ready all the same.
  return {
    name,
    remark:
      refusal.code === 'LimitExceeded'
        ? `but it is not served: ${refusal.message}`
        : `but the API server refuses the query: ${refusal.message}`,
  };
}

/** A query that may have been opened long after the start. */
function newQueryCheck(name: string, status: ReflectorStatus): Check {
  return isBeingRead(status)
    ? { name, remark: 'but not synced yet' }
    : { name, ...problemOfStatus(status) };
}

/** Whether the first list is under way, and nothing has failed. */
function isBeingRead({ restoredFrom, synced, error }: ReflectorStatus): boolean {
  return restoredFrom === undefined && !synced && error === undefined;
}

type Failure = Pick<Check, 'problem' | 'nature'>;

function forbiddenFailure(problem: string): Failure {
  return { problem, nature: 'forbidden' };
}

function problemOfStatus(status: ReflectorStatus): Failure {
  const { restoredFrom, synced, staleMs, error } = status;
  const reason = error === undefined ? '' : `: ${error.message}`;
  if (restoredFrom !== undefined) {
    const saved = new Date(restoredFrom).toISOString();
    const problem = `stale, from the snapshot written ${saved}; the API server has not listed since${reason}`;
    return { problem, nature: 'stale' };
  }
  if (!synced) {
    const problem = `not synced yet${reason}`;
    if (error?.status?.code === 403) return forbiddenFailure(problem);
    return { problem, nature: error === undefined ? 'starting' : 'unsynced' };
  }
  if (staleMs < GRACE_MS) return {};
  const problem = `stale, nothing has arrived for ${Math.floor(staleMs / 1000)} s${reason}`;
  return error?.status?.code === 403 ? forbiddenFailure(problem) : { problem, nature: 'stale' };
}

/** A part of maxListBytes that a list may take before it is remarked on. */
const MUCH_OF_LIST = 0.6;

/** A process that starts cannot read a list above the limit, though this one can go on. */
function listRemark({ listRatio }: ReflectorStatus): string | undefined {
  if (listRatio < MUCH_OF_LIST) return undefined;
  const percent = Math.floor(listRatio * 100);
  return `but its objects take ${percent} % of maxListBytes: above 100 %, a start cannot list them (raise it, or find out who made them)`;
}

function startProblem(started: boolean): string | undefined {
  return started ? undefined : 'waits for the Node of this wrapper, the Services or a node set';
}
