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
import { plural } from '../output/format-output.ts';
import { formatTable, type Report, type TextStyle } from '../output/report.ts';
import { some } from '../simulate/findings.ts';
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

function isError(answer: Report | WrapperError | undefined): answer is WrapperError {
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
    text: (style) =>
      isOneService && !style.wide
        ? formatGroups(answers, style)
        : groupLists(answers, isOneService)
            .map((group) => sectionOf(group, style))
            .join('\n'),
  };
}

/** Nodes that see the same of the Service share one line. Nodes without an answer come first. */
function formatGroups(answers: readonly NodeAnswer[], style: TextStyle): string {
  const groups = Map.groupBy(answers, outcomeText);
  const lines = [...groups]
    .sort(([, a], [, b]) => Number(isFailed(b)) - Number(isFailed(a)) || b.length - a.length)
    .map(([text, all]) => [
      isFailed(all) ? '!' : '',
      text,
      plural(all.length, 'node'),
      some(all.map(({ node }) => node)),
    ]);
  return formatTable([['', 'SEES', 'NODES', ''], ...lines], style);
}

function isFailed(answers: readonly NodeAnswer[]): boolean {
  return isError(answers[0]?.answer);
}

/** `filtered 1/3 hostname: 10.0.0.1` */
function outcomeText({ answer }: NodeAnswer): string {
  if (isError(answer)) return `no answer: ${answer.message}`;
  const explained = answer.data as Explained;
  const { outcome, counts, winners, endpoints } = explained;
  const kept = endpoints.filter((each) => each.kept).map(({ address }) => address);
  const mode = outcome.dryRun ? ' (dry run)' : '';
  const keys = winners.map(shortKey).join('+');
  const what = [`${outcome.kind}${mode}`, `${counts.kept}/${counts.total}`, keys].filter(Boolean);
  return kept.length === 0 ? what.join(' ') : `${what.join(' ')}: ${some(kept.sort())}`;
}

/** Nodes whose lists of Services are equal, the nodes without an answer first. What is old, or one Service, is not grouped. */
function groupLists(answers: readonly NodeAnswer[], isOneService: boolean): NodeAnswer[][] {
  const keyOf = ({ node, answer }: NodeAnswer): string => {
    if (isError(answer)) return `! ${answer.message}`;
    const summary = answer.data as Summary;
    if (isOneService || summary.data?.warning !== undefined) return node;
    return JSON.stringify(withoutTimes(summary));
  };
  const groups = [...Map.groupBy(answers, keyOf).values()];
  return groups.sort((a, b) => Number(isFailed(b)) - Number(isFailed(a)) || b.length - a.length);
}

/** Since when the keys have won differs from node to node. */
function withoutTimes({ services }: Summary): Summary['services'] {
  return services.map(({ since: _since, ...each }) => each);
}

function sectionOf(group: readonly NodeAnswer[], style: TextStyle): string {
  const names = group.map(({ node }) => node);
  const what = names.length === 1 ? `node ${names[0]}` : `${names.length} nodes: ${some(names)}`;
  const title = printLine(`--- ${what}`);
  const answer = group[0]?.answer;
  if (answer === undefined) return title;
  if (isError(answer)) return `${title}${printLine(`! ${answer.message}`)}`;
  if (names.length === 1) return `${title}${answer.text(style)}`;
  const services = withoutTimes(answer.data as Summary);
  return `${title}${formatTable(summaryTable(services, style.wide), style)}`;
}
