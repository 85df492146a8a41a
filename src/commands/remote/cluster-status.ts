import { setTimeout as delay } from 'node:timers/promises';
import { outcomesHash } from '../../admin/status/outcomes-hash.ts';
import { ok, problem, type StatusLine, unknown } from '../../admin/status/status-line.ts';
import { WrapperError } from '../../errors.ts';
import { escapeUntrusted } from '../../untrusted-text.ts';
import { readStatus } from '../client/read-status.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import type { AskedNode } from './asked-node.ts';
import { clusterReport, type NodeReport } from './cluster-report.ts';
import { compareNode, type Expectation, readExpectation } from './expectation.ts';
import { forEachLimited } from './for-each.ts';
import { nodesPointedAtWrapper, type PointedNodes, pointedLine } from './pointed-nodes.ts';
import { newestRuns, rollOutLines } from './roll-out.ts';
import { findWrapperNodes, noPod, type WrapperNode, type WrapperPod } from './wrapper-pods.ts';
import { type WrapperFlags, type Wrappers, withWrappers } from './wrappers.ts';

/** A node that differs must differ again after this time, in milliseconds: changes need a moment to reach every node. */
const SETTLE_MS = 3_000;

export interface ClusterStatusFlags extends WrapperFlags {
  /** File with the settings of the wrappers. */
  readonly config?: string;
}

/** Executes `kubectl kpw status`. */
export const executeClusterStatus = clusterStatusExecutor(SETTLE_MS);

/** @param settleMs time after which nodes that differ are read again, in milliseconds */
export function clusterStatusExecutor(settleMs: number) {
  return ({ flags }: Call<ClusterStatusFlags>): Promise<Result> =>
    withWrappers(flags, (wrappers) => report({ ...wrappers, flags, settleMs }));
}

interface Cluster extends Wrappers {
  readonly flags: ClusterStatusFlags;
  readonly settleMs: number;
}

async function report(cluster: Cluster): Promise<Result> {
  const { client, flags } = cluster;
  const { node } = flags;
  const found = await findWrapperNodes(client, flags, node);
  const pointed = await nodesPointedAtWrapper(client, node);
  if (found.length === 0 && (node !== undefined || pointed.size === 0))
    throw await noPod(client, flags, node);
  const expectations = await readExpectations(cluster, found);
  const nodes = await forEachLimited(found, flags.parallel, (each) => askNode(cluster, each));
  const expected = await expectedLines(cluster, nodes, expectations);
  const newest = newestRuns(nodes);
  const reports = nodes.map(
    (each): NodeReport => ({
      node: each.node,
      version: each.status?.version,
      settings: each.status?.settings,
      lines: [
        ...troubleLines(each),
        ...rollOutLines(each, newest),
        ...answerLines(each).map((line) => connectionLine(line, each, pointed)),
        ...(expected.get(each.node) ?? []),
      ],
    }),
  );
  const [main] = expectations.values();
  if (node === undefined) reports.push(...nodesWithout(nodes, main?.nodes ?? [], pointed));
  const isProblem = reports.some(({ lines }) => lines.some(({ state }) => state === 'problem'));
  // Nothing is known of these wrappers, and the caller can change that.
  const isRefused = nodes.some(({ failure }) => failure?.code === 'Refused');
  const code = isProblem ? EXIT.findings : EXIT.ok;
  return {
    code: isRefused ? EXIT.failed : code,
    report: clusterReport(reports, node === undefined ? (main?.findings ?? []) : []),
  };
}

async function askNode({ ask }: Cluster, node: WrapperNode): Promise<AskedNode> {
  const answer = node.pod && (await ask(node.pod, readStatus));
  return answer instanceof WrapperError
    ? { ...node, failure: answer }
    : { ...node, status: answer };
}

/** By DaemonSet: a canary has settings of its own. The DaemonSet with the most nodes comes first. */
type Expectations = ReadonlyMap<string, Expectation>;

async function readExpectations(
  { client, flags }: Cluster,
  nodes: readonly WrapperNode[],
): Promise<Expectations> {
  const groups = [...Map.groupBy(nodes, ({ daemonSet }) => daemonSet)];
  groups.sort(([, a], [, b]) => b.length - a.length);
  const expectations = new Map<string, Expectation>();
  for (const [daemonSet, all] of groups) {
    const pod = all.find((each) => each.pod !== undefined)?.pod;
    expectations.set(daemonSet, await readExpectation(client, flags.config, pod));
  }
  return expectations;
}

function answerLines({ pod, status, failure, troubles }: AskedNode): readonly StatusLine[] {
  if (status !== undefined) return status.lines;
  if (pod?.isLost) return [unknown('wrapper', failure?.message ?? '')];
  // The reason of the Pod says more than that nothing listens.
  if (troubles.length > 0) return [];
  if (failure === undefined) {
    return [problem('wrapper', 'no Pod of the wrapper runs', 'kubectl describe its Pod')];
  }
  // The caller lacks a right. The wrapper may be well.
  if (failure.code === 'Refused') {
    return [unknown('wrapper', `the wrapper was not asked: ${failure.message}`)];
  }
  if (failure.code === 'Unanswered') return [LATE];
  // An error of a port-forward can have all its attempts.
  const why = escapeUntrusted(failure.message, MAX_FAILURE);
  return [problem('wrapper', 'the wrapper does not answer', 'see the log of its Pod', why)];
}

const LATE = problem(
  'wrapper',
  'the wrapper has not answered in time',
  'see whether the node is up; --request-timeout gives it more time',
);
/** Characters of the reason why a wrapper does not answer. */
const MAX_FAILURE = 200;

const SERVED = 'the Pod before it serves the node until then';
const NOT_SERVED =
  'until then kube-proxy gets no changes there, and no rules after a restart; on a canary, remove the label of the node';

/** In a roll-out the Pod before serves the node. With a canary, or after a Pod was deleted, there may be none. */
function troubleLines({ pod: asked, troubles }: WrapperNode): StatusLine[] {
  // What the kubelet reported last is old.
  if (asked?.isLost) return [];
  const isServed = asked !== undefined && troubles.every(({ pod }) => pod !== asked.name);
  const what = isServed ? 'a Pod' : 'the only Pod of the node';
  return troubles.map(({ pod, reason, message, age, next }) => {
    const detail = age === undefined ? pod : `${pod}, ${age}`;
    if (reason === undefined)
      return problem('wrapper', `${what} ${message}, and runs again`, next, detail);
    const text = `${what} does not run: ${[reason, message].filter(Boolean).join(': ')}`;
    return problem('wrapper', text, `${next}; ${isServed ? SERVED : NOT_SERVED}`, detail);
  });
}

/** A wrapper cannot know that a kube-proxy that has not used it is pointed at it. */
function connectionLine(
  line: StatusLine,
  { node, created }: WrapperNode,
  pointed: PointedNodes,
): StatusLine {
  const since = pointed.get(node);
  if (line.state !== 'notConnected' || since === undefined) return line;
  return pointedLine(Math.max(since, created));
}

const AS_EXPECTED = ok('expected', 'this node sees what simulate computes');

/** The line `expected` of each node. A difference must still be there when node and cluster are read again. */
async function expectedLines(
  cluster: Cluster,
  nodes: readonly AskedNode[],
  expectations: Expectations,
): Promise<ReadonlyMap<string, readonly StatusLine[]>> {
  const lines = new Map<string, readonly StatusLine[]>();
  const doubtful: WrapperNode[] = [];
  for (const each of nodes) {
    const { node, status, daemonSet } = each;
    const expectation = expectations.get(daemonSet);
    if (status === undefined || expectation === undefined) continue;
    if (expectation.failure !== undefined) lines.set(node, [notCompared(expectation.failure)]);
    else if (status.outcomes === undefined) {
      lines.set(node, [unknown('expected', 'there is no view to compare yet')]);
    } else if (status.outcomes === outcomesHash(expectation.outcomesOf(node))) {
      lines.set(node, [AS_EXPECTED]);
    } else doubtful.push(each);
  }
  if (doubtful.length === 0) return lines;
  await delay(cluster.settleMs);
  const again = await readExpectations(cluster, nodes);
  await forEachLimited(doubtful, cluster.flags.parallel, async ({ pod, daemonSet }) => {
    const expectation = again.get(daemonSet);
    if (pod === undefined || expectation === undefined) return;
    lines.set(pod.node, [await differenceLine(cluster, pod, expectation)]);
  });
  return lines;
}

function notCompared({ message }: WrapperError): StatusLine {
  return unknown('expected', 'not compared', message);
}

async function differenceLine(
  { ask }: Cluster,
  pod: WrapperPod,
  expectation: Expectation,
): Promise<StatusLine> {
  if (expectation.failure !== undefined) return notCompared(expectation.failure);
  const differences = await ask(pod, (admin) => compareNode(admin, pod.node, expectation));
  if (differences instanceof WrapperError) return notCompared(differences);
  const [first, ...others] = differences;
  if (first === undefined) return AS_EXPECTED;
  const more = others.length > 0 ? ` and ${others.length} more Services` : '';
  const text = 'this node does not see what simulate computes';
  const next = 'compare kubectl kpw explain SERVICE --node NODE with kubectl kpw simulate SERVICE';
  return problem('expected', text, next, `${first}${more}`);
}

/** Reports about the nodes without a wrapper. @param all the nodes of the cluster, as far as they are known */
function nodesWithout(
  nodes: readonly WrapperNode[],
  all: readonly string[],
  pointed: PointedNodes,
): NodeReport[] {
  const others = new Set([...pointed.keys(), ...all]);
  for (const { node } of nodes) others.delete(node);
  return Array.from(others, (node) => ({
    node,
    lines: [pointed.has(node) ? POINTED_AT_NOTHING : NO_WRAPPER],
  }));
}

const POINTED_AT_NOTHING = problem(
  'wrapper',
  'kube-proxy is pointed at the wrapper, and no wrapper is on this node',
  'run the wrapper there, or point this kube-proxy back: docs/deployment.md',
);
const NO_WRAPPER: StatusLine = {
  id: 'wrapper',
  state: 'notConnected',
  text: 'no wrapper on this node',
};
