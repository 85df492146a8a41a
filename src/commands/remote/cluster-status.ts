import { setTimeout as delay } from 'node:timers/promises';
import {
  type NodeStatus,
  ok,
  problem,
  type StatusLine,
  unknown,
} from '../../admin/status/status-line.ts';
import { WrapperError } from '../../errors.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import { readStatus } from '../node/status/read-status.ts';
import { clusterReport, type NodeReport } from './cluster-report.ts';
import { compareNode, type Expectation, readExpectation } from './expectation.ts';
import { forEachLimited } from './for-each.ts';
import { nodesPointedAtWrapper, type PointedNodes, pointedLine } from './pointed-nodes.ts';
import { rollOutLines } from './roll-out.ts';
import { findWrapperNodes, noPod, type WrapperNode, type WrapperPod } from './wrapper-pods.ts';
import { type WrapperFlags, type Wrappers, withWrappers } from './wrappers.ts';

/** A node that differs must differ again after this time, in milliseconds: changes need a moment to reach every node. */
const SETTLE_MS = 3_000;

/** Executes `kubectl kpw status`. */
export const executeClusterStatus = clusterStatusExecutor(SETTLE_MS);

/** @param settleMs time after which nodes that differ are read again, in milliseconds */
export function clusterStatusExecutor(settleMs: number) {
  return (call: Call<ClusterStatusFlags>): Promise<Result> => report(call.flags, settleMs);
}

export interface ClusterStatusFlags extends WrapperFlags {
  /** File with the settings of the wrappers. */
  readonly config?: string;
}

async function report(flags: ClusterStatusFlags, settleMs: number): Promise<Result> {
  const { node } = flags;
  return await withWrappers(flags, async (wrappers) => {
    const { client } = wrappers;
    const nodes = await findWrapperNodes(client, flags, node);
    const pointed = await nodesPointedAtWrapper(client, node);
    if (nodes.length === 0 && (node !== undefined || pointed.size === 0)) throw noPod(flags, node);
    const cluster: Cluster = { ...wrappers, flags, settleMs, pointed };
    const expectations = await readExpectations(cluster, nodes);
    const [expectation] = expectations.values();
    const reports = await readAll(cluster, nodes, expectations);
    const all = isKnown(expectation) && node === undefined ? expectation.nodes : [];
    const without = node === undefined ? nodesWithout(nodes, all, pointed) : [];
    const found = [...reports, ...without];
    const findings = isKnown(expectation) ? expectation.findings : [];
    const isProblem = found.some(({ lines }) => lines.some(({ state }) => state === 'problem'));
    return {
      code: isProblem ? EXIT.findings : EXIT.ok,
      report: clusterReport(found, node === undefined ? findings : []),
    };
  });
}

interface Cluster extends Wrappers {
  readonly flags: ClusterStatusFlags;
  readonly settleMs: number;
  readonly pointed: PointedNodes;
}

/** What simulate computes, or why it cannot, by DaemonSet: a canary has settings of its own. */
type Expectations = ReadonlyMap<string, Expectation | WrapperError>;

/** The DaemonSet with the most nodes comes first. */
async function readExpectations(
  cluster: Cluster,
  nodes: readonly WrapperNode[],
): Promise<Expectations> {
  const groups = [...Map.groupBy(nodes, ({ daemonSet }) => daemonSet)];
  groups.sort(([, a], [, b]) => b.length - a.length);
  const expectations = new Map<string, Expectation | WrapperError>();
  for (const [daemonSet, all] of groups) {
    expectations.set(daemonSet, await expectationOf(cluster, all));
  }
  return expectations;
}

function isKnown(expectation: Expectation | WrapperError | undefined): expectation is Expectation {
  return expectation !== undefined && !(expectation instanceof WrapperError);
}

async function expectationOf(
  { client, flags }: Cluster,
  nodes: readonly WrapperNode[],
): Promise<Expectation | WrapperError> {
  const pod = nodes.find((each) => each.pod !== undefined)?.pod;
  try {
    if (pod === undefined) throw new WrapperError('NotFound', 'no Pod of the wrapper runs');
    return await readExpectation(client, flags.config, pod);
  } catch (error) {
    return WrapperError.from(error, 'Unreachable');
  }
}

/** What one wrapper answered, or why it did not. */
type Answer = NodeStatus | WrapperError;

async function readAll(
  cluster: Cluster,
  nodes: readonly WrapperNode[],
  expectations: Expectations,
): Promise<NodeReport[]> {
  const answers = await forEachLimited(nodes, cluster.flags.parallel, ({ pod }) =>
    pod === undefined ? Promise.resolve(undefined) : cluster.ask(pod, readStatus),
  );
  const compared = await compareAll(cluster, nodes, answers, expectations);
  const rollOut = rollOutLines(nodes, answers);
  return nodes.map((each, index): NodeReport => {
    const answer = answers[index];
    const status = answer === undefined || answer instanceof WrapperError ? undefined : answer;
    return {
      node: each.node,
      version: status?.version,
      settings: status?.settings,
      lines: [
        ...troubleLines(each),
        ...(rollOut[index] ?? []),
        ...answerLines(answer, each).map((line) => connectionLine(line, each, cluster)),
        ...(compared.get(each.node) ?? []),
      ],
    };
  });
}

function answerLines(answer: Answer | undefined, { troubles }: WrapperNode): readonly StatusLine[] {
  if (answer === undefined) {
    if (troubles.length > 0) return [];
    return [problem('wrapper', 'no Pod of the wrapper runs', 'kubectl describe its Pod')];
  }
  if (!(answer instanceof WrapperError)) return answer.lines;
  // The reason of the Pod says more than that nothing listens.
  if (troubles.length > 0) return [];
  return [
    problem('wrapper', 'the wrapper does not answer', 'see the log of its Pod', answer.message),
  ];
}

const UNSCHEDULABLE = 'Unschedulable';
const MAKE_ROOM = 'make room on the node, or request less memory';
const CORRECT = 'correct the settings or the image';
const SERVED = 'the Pod before it serves the node until then';
const NOT_SERVED =
  'until then kube-proxy gets no changes there, and no rules after a restart; on a canary, remove the label of the node';

/** In a roll-out the Pod before serves the node. With a canary, or after a Pod was deleted, there may be none. */
function troubleLines({ pod: asked, troubles }: WrapperNode): StatusLine[] {
  const isServed = asked !== undefined && troubles.every(({ pod }) => pod !== asked.name);
  return troubles.map(({ pod, reason, message }) => {
    const what = isServed ? 'a Pod does not run' : 'the only Pod of the node does not run';
    const text = `${what}: ${reason}${message === '' ? '' : `: ${message}`}`;
    const repair = reason === UNSCHEDULABLE ? MAKE_ROOM : CORRECT;
    return problem('wrapper', text, `${repair}; ${isServed ? SERVED : NOT_SERVED}`, pod);
  });
}

/** A wrapper cannot know that a kube-proxy that has not used it is pointed at it. */
function connectionLine(line: StatusLine, node: WrapperNode, { pointed }: Cluster): StatusLine {
  const since = pointed.get(node.node);
  if (line.state !== 'notConnected' || since === undefined) return line;
  return pointedLine(Math.max(Date.parse(since), Date.parse(node.created)));
}

/** The line `expected` of each node. A difference must still be there when node and cluster are read again. */
async function compareAll(
  cluster: Cluster,
  nodes: readonly WrapperNode[],
  answers: readonly (Answer | undefined)[],
  expectations: Expectations,
): Promise<ReadonlyMap<string, readonly StatusLine[]>> {
  const lines = new Map<string, readonly StatusLine[]>();
  const doubtful: { readonly pod: WrapperPod; readonly daemonSet: string }[] = [];
  nodes.forEach(({ node, pod, daemonSet }, index) => {
    const answer = answers[index];
    const expectation = expectations.get(daemonSet);
    if (answer === undefined || answer instanceof WrapperError || pod === undefined) return;
    if (!isKnown(expectation)) {
      lines.set(node, [unknown('expected', 'not compared', expectation?.message)]);
    } else if (answer.outcomes === undefined) {
      lines.set(node, [unknown('expected', 'there is no view to compare yet')]);
    } else if (answer.outcomes === expectation.hashOf(node)) {
      lines.set(node, [ok('expected', 'this node sees what simulate computes')]);
    } else doubtful.push({ pod, daemonSet });
  });
  if (doubtful.length === 0) return lines;
  await delay(cluster.settleMs);
  const again = await readExpectations(cluster, nodes);
  await forEachLimited(doubtful, cluster.flags.parallel, async ({ pod, daemonSet }) => {
    lines.set(pod.node, [await differenceLine(cluster, pod, again.get(daemonSet))]);
  });
  return lines;
}

async function differenceLine(
  { ask }: Cluster,
  pod: WrapperPod,
  expectation: Expectation | WrapperError | undefined,
): Promise<StatusLine> {
  if (!isKnown(expectation)) return unknown('expected', 'not compared', expectation?.message);
  const differences = await ask(pod, (admin) => compareNode(admin, pod.node, expectation));
  if (differences instanceof WrapperError) {
    return unknown('expected', 'not compared', differences.message);
  }
  if (differences.length === 0) return ok('expected', 'this node sees what simulate computes');
  const [first] = differences;
  const more = differences.length > 1 ? ` and ${differences.length - 1} more Services` : '';
  const text = 'this node does not see what simulate computes';
  const next = 'compare kubectl kpw explain SERVICE --node NODE with kubectl kpw simulate SERVICE';
  return problem('expected', text, next, `${first}${more}`);
}

/** Reports about the nodes without a wrapper. */
function nodesWithout(
  nodes: readonly WrapperNode[],
  all: readonly string[],
  pointed: PointedNodes,
): NodeReport[] {
  const known = new Set(nodes.map(({ node }) => node));
  const without = [...new Set([...pointed.keys(), ...all])].filter((node) => !known.has(node));
  return without.map((node) => ({
    node,
    lines: [
      pointed.has(node)
        ? problem(
            'wrapper',
            'kube-proxy is pointed at the wrapper, and no wrapper is on this node',
            'run the wrapper there, or point this kube-proxy back: docs/deployment.md',
          )
        : { id: 'wrapper', state: 'notConnected', text: 'no wrapper on this node' },
    ],
  }));
}
