import { WrapperError } from '../../errors.ts';
import { printLine } from '../../untrusted-text.ts';
import { type Call, type Command, EXIT } from '../command.ts';
import { type Flags, numberFlag, textFlag, UsageError } from '../flags.ts';
import { formatTable, type Report, type TextStyle } from '../output/report.ts';
import { userKubeconfig } from '../user-kubeconfig.ts';
import { executeVersion } from '../version.ts';
import { forEachLimited } from './for-each.ts';
import { createKubeClient, type KubeClient } from './kube-client.ts';
import { adminPort, createRemoteAdmin } from './remote-admin.ts';
import { findWrapperPods, noPod, type WrapperPod } from './wrapper-pods.ts';
import { READERS, type WrapperAnswer, type WrapperReader } from './wrapper-readers.ts';

const PARALLEL = 10;

/** Executes a command that asks the wrapper of another node, or those of all nodes. */
export async function executeRemote(command: Command, call: Call): Promise<number> {
  const { flags, args, session } = call;
  const reader = READERS[command.name] as WrapperReader;
  if (command.name === 'version' && isLocal(flags)) {
    return await executeVersion({ ...call, flags: { ...flags, client: true } });
  }
  const node = targetNode(flags);
  const port = adminPort(flags);
  const limit = parallel(flags);
  const read = reader.prepare(flags, args);
  const client = await createKubeClient(userKubeconfig(flags));
  try {
    const pods = await findWrapperPods(client, flags, node);
    if (pods.length === 0) throw noPod(flags, node);
    const ask = (pod: WrapperPod) => askWrapper(client, pod, port, read);
    if (node === undefined) {
      const answers = await forEachLimited(pods, limit, ask);
      await session.print(reportOfNodes(answers, reader.header), flags);
      return codeOf(answers);
    }
    const [pod] = pods as [WrapperPod];
    const { answer, error } = await ask(pod);
    if (answer === undefined) throw error;
    await session.print(answer.report, flags);
    return answer.code;
  } finally {
    await client.close();
  }
}

/** No node is asked for its version. */
function isLocal({ client, node, 'all-nodes': allNodes }: Flags): boolean {
  return client === true || (node === undefined && allNodes !== true);
}

/** How many nodes are read at the same time. Throws UsageError. */
export function parallel(flags: Flags): number {
  const number = numberFlag(flags, 'parallel', ' of nodes', PARALLEL);
  if (Number.isInteger(number) && number > 0) return number;
  throw new UsageError(`--parallel must be a number of nodes, not ${number}`);
}

/** The node of --node; undefined: all. Throws UsageError. */
function targetNode(flags: Flags): string | undefined {
  const node = textFlag(flags, 'node');
  if ((node === undefined) === (flags['all-nodes'] !== true)) {
    throw new UsageError('give --node NAME or --all-nodes');
  }
  return node;
}

/** The answer of the wrapper on one node, or why there is none. */
interface NodeAnswer {
  readonly node: string;
  readonly answer?: WrapperAnswer;
  readonly error?: WrapperError;
}

async function askWrapper(
  client: KubeClient,
  pod: WrapperPod,
  port: number,
  read: ReturnType<WrapperReader['prepare']>,
): Promise<NodeAnswer> {
  const { node } = pod;
  const admin = createRemoteAdmin(client, pod, port);
  try {
    return { node, answer: await read(admin) };
  } catch (error) {
    return { node, error: WrapperError.from(error, 'Unreachable') };
  } finally {
    admin.close();
  }
}

/** A wrapper that cannot be asked is a failure; otherwise the worst code counts. */
function codeOf(answers: readonly NodeAnswer[]): number {
  if (answers.some(({ error }) => error !== undefined)) return EXIT.failed;
  return Math.max(...answers.map(({ answer }) => answer?.code ?? EXIT.ok));
}

function reportOfNodes(
  answers: readonly NodeAnswer[],
  header: readonly string[] | undefined,
): Report {
  const nodes = answers.map(({ node, answer, error }) =>
    error === undefined
      ? { node, answer: answer?.report.data }
      : { node, error: { code: error.code, message: error.message } },
  );
  return {
    data: { nodes },
    text: (style) =>
      header === undefined || style.wide
        ? answers.map((each) => sectionOf(each, style)).join('\n')
        : formatTable([['NODE', ...header], ...answers.map((each) => lineOf(each, header))], style),
  };
}

function sectionOf({ node, answer, error }: NodeAnswer, style: TextStyle): string {
  const title = printLine(`--- node ${node}`);
  if (error !== undefined) return `${title}${printLine(`! ${error.message}`)}`;
  return `${title}${answer?.report.text(style) ?? ''}`;
}

function lineOf({ node, answer, error }: NodeAnswer, header: readonly string[]): string[] {
  if (error === undefined) return [node, ...(answer?.line ?? [])];
  const empty = header.slice(1).map(() => '-');
  return [node, ...empty, `no answer: ${error.message}`];
}
