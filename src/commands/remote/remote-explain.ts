import type { Explained } from '../../admin/explain/explained-service.ts';
import { WrapperError } from '../../errors.ts';
import { shortKey } from '../../topology/explain/short-key.ts';
import { printLine } from '../../untrusted-text.ts';
import { createKubeClient, type KubeClient } from '../client/kube-client.ts';
import { type Call, EXIT } from '../command-line/command.ts';
import { type Flags, UsageError } from '../command-line/flags.ts';
import { type ServiceName, serviceArgument } from '../command-line/service-argument.ts';
import { userKubeconfig } from '../command-line/user-kubeconfig.ts';
import { explainReport } from '../node/explain.ts';
import { plural } from '../output/format-output.ts';
import { formatTable, type Report, type TextStyle } from '../output/report.ts';
import { some } from '../simulate/findings.ts';
import { forEachLimited } from './for-each.ts';
import { adminPort, createRemoteAdmin } from './remote-admin.ts';
import { parallel, targetNode } from './remote-flags.ts';
import { findWrapperPods, noPod, type WrapperPod } from './wrapper-pods.ts';

/** Executes `kubectl kpw explain`: the explanation of one node, or of all. */
export async function executeRemoteExplain({ flags, args, session }: Call): Promise<number> {
  const service = serviceArgument(args, flags);
  const node = targetNode(flags);
  if (node === undefined && flags['all-nodes'] !== true) {
    throw new UsageError('give --node NAME or --all-nodes');
  }
  const port = adminPort(flags);
  const limit = parallel(flags);
  const client = await createKubeClient(userKubeconfig(flags));
  try {
    const pods = await findWrapperPods(client, flags, node);
    if (pods.length === 0) throw noPod(flags, node);
    const ask = (pod: WrapperPod) => askNode({ client, flags, port, service }, pod);
    const answers = await forEachLimited(pods, limit, ask);
    const [only] = answers;
    if (node !== undefined && only?.error !== undefined) throw only.error;
    const report = node === undefined ? undefined : only?.report;
    await session.print(report ?? reportOfNodes(answers, service !== undefined), flags);
    return answers.some(({ error }) => error !== undefined) ? EXIT.failed : EXIT.ok;
  } finally {
    await client.close();
  }
}

/** The answer of the wrapper on one node, or why there is none. */
interface NodeAnswer {
  readonly node: string;
  readonly report?: Report;
  readonly error?: WrapperError;
}

async function askNode(
  options: {
    readonly client: KubeClient;
    readonly flags: Flags;
    readonly port: number;
    readonly service: ServiceName | undefined;
  },
  pod: WrapperPod,
): Promise<NodeAnswer> {
  const { client, flags, port, service } = options;
  const { node } = pod;
  const admin = createRemoteAdmin(client, pod, port);
  try {
    return { node, report: await explainReport(admin, flags, service) };
  } catch (error) {
    return { node, error: WrapperError.from(error, 'Unreachable') };
  } finally {
    await admin.close();
  }
}

function reportOfNodes(answers: readonly NodeAnswer[], isOneService: boolean): Report {
  const nodes = answers.map(({ node, report, error }) =>
    error === undefined
      ? { node, answer: report?.data }
      : { node, error: { code: error.code, message: error.message } },
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
  return answers[0]?.error !== undefined;
}

/** `filtered 1/3 hostname: 10.0.0.1` */
function outcomeText({ report, error }: NodeAnswer): string {
  if (error !== undefined) return `no answer: ${error.message}`;
  const explained = report?.data as Explained;
  const { outcome, counts, winners, endpoints } = explained;
  const kept = endpoints.filter((each) => each.kept).map(({ address }) => address);
  const mode = outcome.dryRun ? ' (dry run)' : '';
  const keys = winners.map(shortKey).join('+');
  const what = [`${outcome.kind}${mode}`, `${counts.kept}/${counts.total}`, keys].filter(Boolean);
  return kept.length === 0 ? what.join(' ') : `${what.join(' ')}: ${some(kept.sort())}`;
}

function sectionOf({ node, report, error }: NodeAnswer, style: TextStyle): string {
  const title = printLine(`--- node ${node}`);
  if (error !== undefined) return `${title}${printLine(`! ${error.message}`)}`;
  return `${title}${report?.text(style) ?? ''}`;
}
