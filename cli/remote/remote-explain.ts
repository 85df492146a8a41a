import type { Explained } from '../../src/admin/explain/explained-service.ts';
import { shortKey } from '../../src/diagnosis/explain/short-key.ts';
import { WrapperError } from '../../src/errors.ts';
import { plural } from '../../src/text/numbers.ts';
import { printLine } from '../../src/text/untrusted-text.ts';
import { firstFew } from '../../src/util/first-few.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import { UsageError } from '../command-line/usage-error.ts';
import { formatStaleness } from '../node/data-age.ts';
import { formatObjects } from '../node/diff-text.ts';
import {
  chosenBy,
  type ExplainFlags,
  type ExplainReport,
  explainedService,
  explainReport,
} from '../node/explain.ts';
import { summaryTable } from '../node/explain-text.ts';
import { formatTable, type Report, type TextStyle } from '../output/report.ts';
import { forEachLimited } from './for-each.ts';
import { findWrapperPods, noPod } from './wrapper-pods.ts';
import { type WrapperFlags, withWrappers } from './wrappers.ts';

export interface RemoteExplainFlags extends ExplainFlags, WrapperFlags {}

/** Executes `kubectl kpw explain`: the explanation of one node, or of all. */
export async function executeRemoteExplain(call: Call<RemoteExplainFlags>): Promise<Result> {
  const { flags, args } = call;
  const { node } = flags;
  const service = explainedService(args, flags);
  if (node === undefined && flags.allNodes !== true) {
    throw new UsageError('give --node NAME or --all-nodes');
  }
  return await withWrappers(flags, async ({ client, ask }) => {
    const pods = await findWrapperPods(client, flags, node);
    if (pods.length === 0) throw await noPod(client, flags, node);
    const answers = await forEachLimited(pods, flags.parallel, async (pod) => ({
      node: pod.node,
      answer: await ask(pod, (admin) => explainReport(admin, flags, service)),
    }));
    const only = node === undefined ? undefined : answers[0]?.answer;
    if (only instanceof WrapperError) throw only;
    return {
      code: answers.some(({ answer }) => isError(answer)) ? EXIT.failed : EXIT.ok,
      report: only ?? reportOfNodes(answers, flags, service !== undefined),
    };
  });
}

/** The answer of the wrapper on one node, or why there is none. */
interface NodeAnswer {
  readonly node: string;
  readonly answer: ExplainReport | WrapperError;
}

function isError(answer: NodeAnswer['answer']): answer is WrapperError {
  return answer instanceof WrapperError;
}

/** @param isOfService whether one Service was asked about */
function reportOfNodes(
  answers: readonly NodeAnswer[],
  flags: ExplainFlags,
  isOfService: boolean,
): Report {
  const nodes = answers.map(({ node, answer }) =>
    isError(answer)
      ? { node, error: { code: answer.code, message: answer.message } }
      : { node, answer: answer.data },
  );
  return {
    data: { nodes },
    text(style) {
      const groups = groupsOf(answers, (report) => textOf(report, style, flags));
      const isLine = ({ answer }: NodeAnswer) => isError(answer) || answer.kind === 'service';
      return isOfService && !style.wide && answers.every(isLine)
        ? formatOutcomes(groups, style)
        : groups.map(formatSection).join('\n');
    },
  };
}

/** Nodes with the same answer. */
interface AnswerGroup {
  readonly text: string;
  readonly isError: boolean;
  readonly nodes: readonly string[];
}

/** Groups nodes by a text of their answer. Those without an answer come first, then the largest groups. */
function groupsOf(
  answers: readonly NodeAnswer[],
  print: (report: ExplainReport) => string,
): AnswerGroup[] {
  const groups = Map.groupBy(answers, ({ answer }) =>
    isError(answer) ? `no answer: ${answer.message}` : print(answer),
  );
  const all = Array.from(groups, ([text, same]) => ({
    text,
    isError: same.some(({ answer }) => isError(answer)),
    nodes: same.map(({ node }) => node),
  }));
  return all.sort(
    (a, b) => Number(b.isError) - Number(a.isError) || b.nodes.length - a.nodes.length,
  );
}

/** Nodes that see the same of the Service share one line. */
function formatOutcomes(groups: readonly AnswerGroup[], style: TextStyle): string {
  const lines = groups.map(({ text, isError, nodes }) => [
    isError ? '!' : '',
    text,
    plural(nodes.length, 'node'),
    firstFew(nodes),
  ]);
  return formatTable([['', 'SEES', 'NODES', ''], ...lines], style);
}

/**
 * `filtered 1/3 hostname: 10.0.0.1`, and whether a kube-proxy sees that. In a dry run all endpoints are shown:
 * `filtered 3/3 (dry run: would be 1/3 hostname: 10.0.0.1)`.
 */
function outcomeText({ outcome, counts, winners, endpoints, view }: Explained): string {
  const { kept, total } = counts;
  const listed = endpoints.filter((each) => each.kept).map(({ address }) => address);
  const keys = winners.map(shortKey).join('+');
  const addresses = listed.length === 0 ? '' : `: ${firstFew(listed.sort())}`;
  const sees = `${[`${kept}/${total}`, keys].filter(Boolean).join(' ')}${addresses}`;
  const unread = view.clients === 0 ? ' (no client reads this)' : '';
  const shown = outcome.dryRun ? `${total}/${total} (dry run: would be ${sees})` : sees;
  return `${outcome.kind} ${shown}${unread}`;
}

/**
 * An answer without its node: one line of a Service unless -o wide is given, and a list of Services without the times
 * since when keys have won there.
 */
function textOf(report: ExplainReport, style: TextStyle, flags: ExplainFlags): string {
  const { view } = report.data;
  const unread = view.clients === 0 ? printLine('no client reads this view now') : '';
  const stale = `${unread}${formatStaleness(report.data)}`;
  switch (report.kind) {
    case 'service':
      return style.wide ? report.text(style) : outcomeText(report.data);
    case 'diff':
      return `${stale}${formatObjects(report.data)}`;
    case 'services': {
      const services = report.data.services.map(({ since: _since, ...each }) => each);
      if (services.length === 0) return `${stale}${printLine(`no Services${chosenBy(flags)}`)}`;
      return `${stale}${formatTable(summaryTable(services, style.wide), style)}`;
    }
  }
}

function formatSection({ text, isError, nodes }: AnswerGroup): string {
  const what =
    nodes.length === 1 ? `node ${nodes[0]}` : `${nodes.length} nodes: ${firstFew(nodes)}`;
  return `${printLine(`--- ${what}`)}${isError ? printLine(`! ${text}`) : text}`;
}
