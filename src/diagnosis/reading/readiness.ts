import type { ReflectorStatus } from '../../client/reflector/reflector.ts';
import type { ProxyState } from '../../server/node-proxy.ts';
import { consequenceOfRefusal } from '../../topology/state/node-set.ts';
import type { Collections, NodeSetReading, ViewReading } from './collections.ts';
import { GRACE_MS, isUnauthorized, REFUSED_CREDENTIALS } from './data-age.ts';
import {
  nodeSetName,
  OWN_NODE,
  sourceName,
  startWait,
  unreadOwnNode,
  viewName,
} from './start-wait.ts';

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
   * - `unauthorized`: the API server refuses the credentials (401), so no collection can be read
   */
  readonly nature?: 'stale' | 'starting' | 'unsynced' | 'forbidden' | 'unauthorized' | undefined;
  /** Name of the check that must pass first. While it fails, this one has no cause of its own. */
  readonly waitsFor?: string | undefined;
  /**
   * A problem that does not affect what clients see now, but later or elsewhere. The check passes. If it failed, a
   * roll-out that corrects the problem would stop.
   */
  readonly degraded?: string;
  /** What differs from node to node: names, numbers, times, errors. The problem, or what is degraded, has none. */
  readonly detail?: string | undefined;
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
    ...kubeProxyChecks(proxy),
    ...certificateChecks(proxy),
    ...snapshotChecks(proxy),
    ...relayChecks(proxy),
    ...budgetChecks(proxy),
    ...localRuntimeChecks(proxy),
    ...views.map((view) => viewCheck(view, proxy)),
    ...nodeSets.flatMap(nodeSetChecks),
    ...sources.map(({ path, status, refusal }) => ({
      name: sourceName(path),
      ...(refusal === undefined ? problemOfStatus(status) : forbiddenFailure(refusal)),
    })),
  ];
}

function ownNodeCheck(proxy: ProxyState): Check {
  const { views, topology } = proxy;
  const name = OWN_NODE;
  if (views.ownNodeExists) return { name };
  const waitsFor = unreadOwnNode(proxy);
  return waitsFor === undefined
    ? { name, problem: 'there is no Node of this name', detail: topology.nodeName }
    : { name, problem: 'the Node has not been read yet', waitsFor };
}

/**
 * Before the views of kube-proxy are open, nothing shows whether the API server answers their lists. A roll-out that
 * took this node for ready would go on.
 */
function kubeProxyChecks({ views: { kubeProxy } }: ProxyState): Check[] {
  if (kubeProxy.hasOpened) return [];
  const problem = 'waits for kube-proxy to connect, at most until 30 s after it listens';
  return [{ name: 'kube-proxy', problem, nature: 'starting' }];
}

function certificateChecks({ listeners: { certificate } }: ProxyState): Check[] {
  if (certificate === undefined) return [];
  const detail = certificate.problem(Date.now());
  return [{ name: 'https-certificate', problem: detail && 'not valid', detail }];
}

function snapshotChecks({ snapshots }: ProxyState): Check[] {
  if (snapshots === undefined) return [];
  const { problem: detail } = snapshots;
  const degraded = detail && 'the state cannot be written, so the next start may lack it';
  return [{ name: 'snapshots', degraded, detail }];
}

/** The check of relays, which this node can do without. */
export const RELAYS = 'relays';

function relayChecks({ upstream: { failover } }: ProxyState): Check[] {
  const { hasRelays, relayProblem: detail } = failover;
  return hasRelays ? [{ name: RELAYS, degraded: detail && 'no relay is used', detail }] : [];
}

/** kube-proxy is served even if the budget is exhausted, so the node is ready. */
function budgetChecks({ views: { budget } }: ProxyState): Check[] {
  if (budget.remark === undefined) return [];
  return [{ name: 'view-budget', remark: `but ${budget.remark}` }];
}

/** While the API server answers, nothing that clients see depends on the container runtime. */
function localRuntimeChecks({ localRuntime }: ProxyState): Check[] {
  if (localRuntime === undefined) return [];
  const { socket, problem: detail, corrected } = localRuntime;
  const { count, since } = corrected;
  const degraded =
    detail &&
    `the container runtime at ${socket} cannot be read, so endpoints of this node are not corrected while the API server is unreachable`;
  const remark =
    count === 0
      ? undefined
      : `but ${count} endpoints of this node are corrected from the container runtime, the first since ${new Date(since).toISOString()}`;
  return [{ name: 'local-runtime', degraded, detail, remark }];
}

function nodeSetChecks(set: NodeSetReading): Check[] {
  const { selector, needed, status, refusal } = set;
  const name = nodeSetName(selector);
  const refused = refusal && `${refusal}; ${consequenceOfRefusal(set)}`;
  if (status === undefined) return [{ name, degraded: 'not watched', detail: refused }];
  // No view depends on a set that no policy needs any more.
  if (!needed) return [];
  // Before the first list, clients wait until the node sets are known. Afterwards an annotation must not make the node
  // unready.
  return [
    refused === undefined ? newQueryCheck(name, status) : { name, ...forbiddenFailure(refused) },
  ];
}

function viewCheck(
  { query, isKubeProxys, started, refusal, status }: ViewReading,
  proxy: ProxyState,
): Check {
  const name = viewName(query);
  if (refusal === undefined) {
    // kube-proxy does not depend on what other clients have just asked for.
    if (!isKubeProxys && isBeingRead(status)) return newQueryCheck(name, status);
    const problem = problemOfStatus(status);
    const remark = listRemark(status);
    // Its last state is served. This node is ready unless kube-proxy reads it, which lacks room only in JSON.
    if (status.error?.code === 'LimitExceeded' && !isKubeProxys) {
      return {
        name,
        degraded: 'its clients see the last state that had room',
        detail: status.error.message,
      };
    }
    if (problem.problem !== undefined) return { name, ...problem };
    return { name, ...(started ? {} : waitingFailure(proxy)), remark };
  }
  const hasNoRoom = refusal.code === 'LimitExceeded';
  if (hasNoRoom && isKubeProxys) {
    return { name, problem: 'not served', nature: 'unsynced', detail: refusal.message };
  }
  // The client of a refused query receives the error. This node is ready all the same.
  const what = hasNoRoom ? 'it is not served' : 'the API server refuses the query';
  return { name, remark: `but ${what}: ${refusal.message}` };
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

type Failure = Pick<Check, 'problem' | 'nature' | 'waitsFor' | 'detail'>;

function forbiddenFailure(detail: string): Failure {
  return { problem: 'the wrapper lacks a right', nature: 'forbidden', detail };
}

/** Of a view that has been listed, and cannot start yet. */
function waitingFailure(proxy: ProxyState): Failure {
  const { check: waitsFor, what } = startWait(proxy);
  return { problem: `waits for ${what}`, nature: 'starting', waitsFor };
}

function problemOfStatus(status: ReflectorStatus): Failure {
  const { restoredFrom, synced, staleMs, error } = status;
  const reason = error === undefined ? '' : `: ${error.message}`;
  if (restoredFrom === undefined && synced && staleMs < GRACE_MS) return {};
  if (isUnauthorized(status)) return { problem: REFUSED_CREDENTIALS, nature: 'unauthorized' };
  if (restoredFrom !== undefined) {
    const saved = new Date(restoredFrom).toISOString();
    const problem = `stale, from the snapshot written ${saved}; the API server has not listed since${reason}`;
    return { problem, nature: 'stale' };
  }
  if (error?.status?.code === 403) return forbiddenFailure(error.message);
  if (synced) {
    const problem = `stale, nothing has arrived for ${Math.floor(staleMs / 1000)} s${reason}`;
    return { problem, nature: 'stale' };
  }
  const nature = error === undefined ? 'starting' : 'unsynced';
  return { problem: 'not synced yet', nature, detail: error?.message };
}

/** A part of maxListBytes that a list may take before it is remarked on. */
const MUCH_OF_LIST = 0.6;

/** A process that starts cannot read a list above the limit, though this one can go on. */
function listRemark({ listRatio }: ReflectorStatus): string | undefined {
  if (listRatio < MUCH_OF_LIST) return undefined;
  const percent = Math.floor(listRatio * 100);
  return `but its objects take ${percent} % of maxListBytes: above 100 %, a start cannot list them (raise it, or find out who made them)`;
}
