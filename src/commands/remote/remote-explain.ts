import type { Explained } from '../../admin/explain/explained-service.ts';
import { WrapperError } from '../../errors.ts';
import { shortKey } from '../../topology/explain/short-key.ts';
import { printLine } from '../../untrusted-text.ts';
import { type Call, EXIT } from '../command-line/command.ts';
import { UsageError } from '../command-line/flags.ts';
import { serviceArgument } from '../command-line/service-argument.ts';
import { explainReport } from '../node/explain.ts';
import { plural } from '../output/format-output.ts';
import { formatTable, type Report, type TextStyle } from '../output/report.ts';
import { some } from '../simulate/findings.ts';
import { forEachLimited } from './for-each.ts';
import { findWrapperPods, noPod } from './wrapper-pods.ts';
import { withWrappers } from './wrappers.ts';

/** Executes `kubectl kpw explain`: the explanation of one node, or of all. */
export async function executeRemoteExplain({ flags, args, session }: Call): Promise<number> {
  const service = serviceArgument(args, flags);
  if (flags.node === undefined && flags['all-nodes'] !== true) {
    throw new UsageError('give --node NAME or --all-nodes');
  }
  return await withWrappers(flags, async ({ client, node, limit, ask }) => {
    const pods = await findWrapperPods(client, flags, node);
    if (pods.length === 0) throw noPod(flags, node);
    const answers = await forEachLimited(pods, limit, async (pod) => ({
      node: pod.node,
      answer: await ask(pod, (admin) => explainReport(admin, flags, service)),
    }));
    const only = node === undefined ? undefined : answers[0]?.answer;
    if (only instanceof WrapperError) throw only;
    await session.print(only ?? reportOfNodes(answers, service !== undefined), flags);
    return answers.some(({ answer }) => isError(answer)) ? EXIT.failed : EXIT.ok;
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
        : answers.map((each) => sectionOf(each, style)).join('\n'),
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

function sectionOf({ node, answer }: NodeAnswer, style: TextStyle): string {
  const title = printLine(`--- node ${node}`);
  return `${title}${isError(answer) ? printLine(`! ${answer.message}`) : answer.text(style)}`;
}
