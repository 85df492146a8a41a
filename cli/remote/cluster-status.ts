import {
  type NodeStatus,
  problemLine,
  type StatusLine,
  unknownLine,
  warningLine,
} from '../../src/admin/status/status-line.ts';
import { WrapperError } from '../../src/errors.ts';
import { escapeUntrusted } from '../../src/text/untrusted-text.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import { type WatchFlags, watchStatus } from '../command-line/watch.ts';
import type { AskedNode } from './asked-node.ts';
import { judgeLabels } from './cluster-labels.ts';
import { clusterReport, type NodeReport } from './cluster-report.ts';
import { forEachLimited } from './for-each.ts';
import { type PointedNodes, pointedLine, readKubeProxyPods } from './kube-proxy-pods.ts';
import { relayLines } from './relay-pods.ts';
import { newestRuns, rollOutLines } from './roll-out.ts';
import {
  findWrapperNodes,
  noPod,
  OTHER_PLACES,
  otherNamespace,
  type WrapperNode,
} from './wrapper-pods.ts';
import { type WrapperFlags, type Wrappers, withWrappers } from './wrappers.ts';

export interface ClusterStatusFlags extends WrapperFlags, WatchFlags {}

/** Executes `kubectl kpw status`. */
export async function executeClusterStatus({ flags }: Call<ClusterStatusFlags>): Promise<Result> {
  return await withWrappers(flags, (wrappers) =>
    watchStatus(() => reportOf(wrappers, flags), flags),
  );
}

async function reportOf({ client, ask }: Wrappers, flags: WrapperFlags): Promise<Result> {
  const { node } = flags;
  const { wrappers, others } = await findWrapperNodes(client, flags, node);
  const { pointed, ended } = await readKubeProxyPods(client, node);
  const isNowhere = wrappers.length === 0;
  if (isNowhere) await assertNotElsewhere(client, flags, pointed);
  const nodes = await forEachLimited(wrappers, flags.parallel, (each) => askNode(ask, each));
  const newest = newestRuns(nodes);
  const judge = await judgeLabels(client, nodes);
  const reports = nodes.map(
    (each): NodeReport => ({
      node: each.node,
      version: each.status?.version,
      settings: each.status?.settings,
      relay: each.status?.relay,
      lines: [
        ...troubleLines(each),
        ...rollOutLines(each, newest),
        ...answerLines(each)
          .flatMap(judge)
          .map((line) => connectionLine(line, each, pointed)),
        ...(ended.get(each.node) ?? []),
      ],
    }),
  );
  const ofRelays = await relayLines(client, flags.podNamespace, reports, node);
  for (const [index, report] of reports.entries()) {
    const more = ofRelays.get(report.node) ?? [];
    reports[index] = { ...report, lines: [...report.lines, ...more] };
  }
  if (node === undefined) {
    const advice = isNowhere ? nowhereAdvice(flags) : RUN_THERE;
    for (const report of nodesWithout(nodes, others, pointed, advice)) reports.push(report);
  }
  const isProblem = reports.some(({ lines }) => lines.some(({ state }) => state === 'problem'));
  // The caller lacks a right, and can get it. Until then nothing is known of these wrappers.
  const isRefused = nodes.some(({ failure }) => failure?.code === 'Refused');
  const code = isProblem ? EXIT.findings : EXIT.ok;
  return { code: isRefused ? EXIT.failed : code, report: clusterReport(reports) };
}

/**
 * Without a Pod of the wrapper: rejects, unless kube-proxies are pointed at it and no other namespace has its Pods.
 */
async function assertNotElsewhere(
  client: KubeClient,
  flags: WrapperFlags,
  pointed: PointedNodes,
): Promise<void> {
  const { node } = flags;
  const isEmergency = node === undefined && pointed.size > 0;
  if (isEmergency && (await otherNamespace(client, flags)) === undefined) return;
  throw await noPod(client, flags, node);
}

async function askNode(ask: Wrappers['ask'], node: WrapperNode): Promise<AskedNode> {
  const answer = node.pod && (await ask(node.pod, (admin) => admin.request<NodeStatus>('/status')));
  return answer instanceof WrapperError
    ? { ...node, failure: answer }
    : { ...node, status: answer };
}

function answerLines({ pod, status, failure, troubles }: AskedNode): readonly StatusLine[] {
  if (status !== undefined) return status.lines;
  if (pod?.unasked !== undefined) return [unknownLine('wrapper', failure?.message ?? '')];
  // It hangs, whatever has happened before.
  if (failure?.code === 'Unanswered') return [LATE];
  // The reason of the Pod says more than that nothing listens.
  if (troubles.length > 0) return [];
  if (failure === undefined) {
    return [problemLine('wrapper', 'no Pod of the wrapper runs', 'kubectl describe its Pod')];
  }
  // The caller lacks a right. The wrapper may be well.
  if (failure.code === 'Refused') {
    return [unknownLine('wrapper', `the wrapper was not asked: ${failure.message}`)];
  }
  // An error of a port-forward can have all its attempts.
  const why = escapeUntrusted(failure.message, MAX_FAILURE);
  return [problemLine('wrapper', 'the wrapper does not answer', 'see the log of its Pod', why)];
}

const LATE = problemLine(
  'wrapper',
  'the wrapper has not answered in time',
  'see whether the node is up; --request-timeout gives it more time',
);
/** Characters of the reason why a wrapper does not answer. */
const MAX_FAILURE = 200;

const SERVED = 'the Pod before it serves the node until then';
const NOT_SERVED =
  'until then kube-proxy gets no changes there, and no rules after a restart; on a canary, remove the label of the node';

/**
 * In a roll-out the Pod before serves the node. With a canary, or after a Pod was deleted, there may be none.
 * A Pod that was killed, as in a power cut, and serves again is well.
 */
function troubleLines({ pod: asked, troubles, status }: AskedNode): StatusLine[] {
  // What the kubelet reported last is old.
  if (asked?.unasked !== undefined) return [];
  const isServed = asked !== undefined && troubles.every(({ pod }) => pod !== asked.name);
  const what = isServed ? 'a Pod' : 'the only Pod of the node';
  return troubles.map(({ pod, reason, message, age, next }) => {
    const detail = age === undefined ? pod : `${pod}, ${age}`;
    if (reason === undefined) {
      const make = pod === asked?.name && isReady(status) ? warningLine : problemLine;
      return make('wrapper', `${what} ${message}, and runs again`, next, detail);
    }
    const text = `${what} does not run: ${[reason, message].filter(Boolean).join(': ')}`;
    return problemLine('wrapper', text, `${next}; ${isServed ? SERVED : NOT_SERVED}`, detail);
  });
}

function isReady(status: NodeStatus | undefined): boolean {
  return status?.lines.every(({ id, state }) => id !== 'wrapper' || state === 'ok') === true;
}

/** A wrapper cannot know that a kube-proxy that has not used it is pointed at it. */
function connectionLine(
  line: StatusLine,
  { node, created, started }: WrapperNode,
  pointed: PointedNodes,
): StatusLine {
  const since = pointed.get(node);
  if (line.state !== 'notConnected' || since === undefined) return line;
  return pointedLine(Math.max(since, created, started));
}

/**
 * Reports about the nodes without a wrapper.
 *
 * @param others those that are known, besides those with a kube-proxy
 * @param advice what to do about a kube-proxy that is pointed at the wrapper
 */
function nodesWithout(
  nodes: readonly WrapperNode[],
  others: readonly string[],
  pointed: PointedNodes,
  advice: string,
): NodeReport[] {
  const without = new Set([...pointed.keys(), ...others]);
  for (const { node } of nodes) without.delete(node);
  return Array.from(without, (node) => ({
    node,
    lines: [pointed.has(node) ? problemLine('wrapper', POINTED_AT_NOTHING, advice) : NO_WRAPPER],
  }));
}

const POINTED_AT_NOTHING = 'kube-proxy is pointed at the wrapper, and no wrapper is on this node';
const RUN_THERE = 'run the wrapper there, or point this kube-proxy back: docs/deployment.md';

/** Probably the Pods are elsewhere, and the caller may not see them. */
function nowhereAdvice({ podNamespace, podSelector }: WrapperFlags): string {
  const what = `namespace ${podNamespace} has no Pod with label ${podSelector}`;
  return `${what}: ${OTHER_PLACES}; else ${RUN_THERE}`;
}
const NO_WRAPPER: StatusLine = {
  id: 'wrapper',
  state: 'notConnected',
  text: 'no wrapper on this node',
};
