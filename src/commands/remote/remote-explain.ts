import type { Explained } from '../../admin/explain/explained-service.ts';
import type { Summary } from '../../admin/explain/summary.ts';
import { WrapperError } from '../../errors.ts';
import { shortKey } from '../../topology/explain/short-key.ts';
import { printLine } from '../../untrusted-text.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import { serviceArgument } from '../command-line/service-argument.ts';
import { UsageError } from '../command-line/usage-error.ts';
import { type ExplainFlags, explainReport } from '../node/explain.ts';
import { summaryTable } from '../node/explain-text.ts';
import { plural, some } from '../output/format-output.ts';
import { formatTable, type Report, type TextStyle } from '../output/report.ts';
import { forEachLimited } from './for-each.ts';
import { findWrapperPods, noPod } from './wrapper-pods.ts';
import { type WrapperFlags, withWrappers } from './wrappers.ts';

export interface RemoteExplainFlags extends ExplainFlags, WrapperFlags {}

/** Executes `kubectl kpw explain`: the explanation of one node, or of all. */
export async function executeRemoteExplain(call: Call<RemoteExplainFlags>): Promise<Result> {
  const { flags, args } = call;
  const { node } = flags;
  const service = serviceArgument(args, flags);
  if (node === undefined && flags.allNodes !== true) {
    throw new UsageError('give --node NAME or --all-nodes');
  }
  return await withWrappers(flags, async ({ client, ask }) => {
    const pods = await findWrapperPods(client, flags, node);
    if (pods.length === 0) throw noPod(flags, node);
    const answers = await forEachLimited(pods, flags.parallel, async (pod) => ({
      node: pod.node,
      answer: await ask(pod, (admin) => explainReport(admin, flags, service)),
    }));
    const only = node === undefined ? undefined : answers[0]?.answer;
    if (only instanceof WrapperError) throw only;
    return {
      code: answers.some(({ answer }) => isError(answer)) ? EXIT.failed : EXIT.ok,
      report: only ?? reportOfNodes(answers, service !== undefined),
    };
  });
}

/** The answer of the wrapper on one node, or why there is none. */
interface NodeAnswer {
  readonly node: string;
  readonly answer: Report | WrapperError;
}

function isError(answer: Report | WrapperError): answer is WrapperError {
  return answer instanceof WrapperError;
}

function reportOfNodes(answers: readonly NodeAnswer[], isOneService: boolean): Report {
  const nodes = answers.map(({ node, answer }) =>
    isError(answer)
      ? { node, error: { code: answer.code, message: answer.message } }
      : { node, answer: answer.data },
  );
  return {
    data: { nodes },
    text(style) {
      if (isOneService && !style.wide) return formatOutcomes(answers, style);
      const groups = groupsOf(answers, ({ data }, node) =>
        isOneService ? node : listOf(data, node),
      );
      return groups.map((group) => formatSection(group, style)).join('\n');
    },
  };
}

/** Nodes with the same answer. */
interface Group {
  readonly text: string;
  readonly answer: Report | WrapperError;
  readonly nodes: readonly string[];
}

/** Groups nodes by a text of their answer. Those without an answer come first, then the largest groups. */
function groupsOf(
  answers: readonly NodeAnswer[],
  textOf: (report: Report, node: string) => string,
): Group[] {
  const groups = Map.groupBy(answers, ({ node, answer }) =>
    isError(answer) ? `no answer: ${answer.message}` : textOf(answer, node),
  );
  const all = Array.from(groups, ([text, same]) => ({
    text,
    answer: (same[0] as NodeAnswer).answer,
    nodes: same.map(({ node }) => node),
  }));
  const rank = ({ answer, nodes }: Group) => (isError(answer) ? Infinity : nodes.length);
  return all.sort((a, b) => rank(b) - rank(a) || b.nodes.length - a.nodes.length);
}

/** Nodes that see the same of the Service share one line. */
function formatOutcomes(answers: readonly NodeAnswer[], style: TextStyle): string {
  const lines = groupsOf(answers, ({ data }) => outcomeText(data as Explained)).map(
    ({ text, answer, nodes }) => [
      isError(answer) ? '!' : '',
      text,
      plural(nodes.length, 'node'),
      some(nodes),
    ],
  );
  return formatTable([['', 'SEES', 'NODES', ''], ...lines], style);
}

/** `filtered 1/3 hostname: 10.0.0.1` */
function outcomeText({ outcome, counts, winners, endpoints }: Explained): string {
  const kept = endpoints.filter((each) => each.kept).map(({ address }) => address);
  const mode = outcome.dryRun ? ' (dry run)' : '';
  const keys = winners.map(shortKey).join('+');
  const what = [`${outcome.kind}${mode}`, `${counts.kept}/${counts.total}`, keys].filter(Boolean);
  return kept.length === 0 ? what.join(' ') : `${what.join(' ')}: ${some(kept.sort())}`;
}

/** What is equal on nodes whose lists of Services are equal. Old data is not grouped. */
function listOf(data: unknown, node: string): string {
  const summary = data as Summary;
  return summary.data?.warning === undefined ? JSON.stringify(withoutTimes(summary)) : node;
}

/** Since when the keys have won differs from node to node. */
function withoutTimes({ services }: Summary): Summary['services'] {
  return services.map(({ since: _since, ...each }) => each);
}

function formatSection({ answer, nodes }: Group, style: TextStyle): string {
  const isOne = nodes.length === 1;
  const what = isOne ? `node ${nodes[0]}` : `${nodes.length} nodes: ${some(nodes)}`;
  const title = printLine(`--- ${what}`);
  if (isError(answer)) return `${title}${printLine(`! ${answer.message}`)}`;
  if (isOne) return `${title}${answer.text(style)}`;
  const services = withoutTimes(answer.data as Summary);
  return `${title}${formatTable(summaryTable(services, style.wide), style)}`;
}
