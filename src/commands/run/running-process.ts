import { WrapperError } from '../../errors.ts';
import type { Query } from '../../proxy/api/query.ts';
import { parseQueries } from '../../proxy/api/query-json.ts';
import { isShareable, type RunningNode } from '../../proxy/hot-restart/hot-restart.ts';
import { boundedRequest } from '../../proxy/util/bounded-request.ts';
import { ownListeners } from '../../proxy/util/proc-net-tcp.ts';
import type { ListenAddress } from '../../util/address.ts';
import { addressText } from '../../util/address.ts';

/** Time for all responses to arrive, in milliseconds. */
const RESPONSE_MS = 2_000;
/** Time for a flush of the snapshots, in milliseconds. */
const FLUSH_MS = 3_000;

/** The process that already listens at the admin address of this one: normally the last one, of which this is the next. */
export interface RunningProcess {
  /** The views that it has open; undefined: it has reported none. */
  readonly queries: readonly Query[] | undefined;
  /** For which Node it works; undefined: it does not say so. */
  readonly node: RunningNode | undefined;
}

/**
 * Reads from the process that already listens at the admin address which views it has open, so that this process can
 * open the same ones before it listens, and for which Node it works.
 *
 * Any local process can listen there while no wrapper runs. Therefore the responses are limited in time, bytes and
 * number of views. The views only decide what is opened early. The Node can prevent the start, so it is used only if
 * the listener belongs to the user of this process: the kernel lets no other user share the port, and a process of the
 * same user could stop this one anyway. Never rejects.
 */
export async function readRunningProcess(
  admin: ListenAddress,
  nodeName: string,
  userId = process.geteuid?.(),
): Promise<RunningProcess> {
  if (!isShareable(admin)) return { queries: undefined, node: undefined };
  const signal = AbortSignal.timeout(RESPONSE_MS);
  const read = async (path: string): Promise<string> => {
    const { status, body } = await boundedRequest({ ...admin, path, signal });
    return status === 200 ? body.toString() : '';
  };
  const isOurs = ownListeners(admin, userId).length > 0;
  const [views, version] = await Promise.all([read('/views'), isOurs ? read('/version') : '']);
  const queries = parseQueries(views, nodeName);
  return {
    queries: queries.length === 0 ? undefined : queries,
    node: parseNode(version, admin),
  };
}

/**
 * Makes the process that listens at the admin address write its newest snapshots. Resolves when it has, when there is
 * none, or after some seconds. Never rejects: the snapshots on disk are then used as they are.
 */
export async function flushRunningProcess(admin: ListenAddress): Promise<void> {
  if (!isShareable(admin)) return;
  const signal = AbortSignal.timeout(FLUSH_MS);
  await boundedRequest({ ...admin, path: '/flush', method: 'POST', signal });
}

/** Undefined if the response is not that of a wrapper. */
function parseNode(text: string, address: ListenAddress): RunningNode | undefined {
  try {
    const { node, nodeUid } = JSON.parse(text) as { node?: unknown; nodeUid?: unknown };
    const name = shortText(node);
    return name === undefined ? undefined : { address, node: name, nodeUid: shortText(nodeUid) };
  } catch {
    return undefined;
  }
}

/** Names and UIDs have at most 253 characters. */
function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 253 ? value : undefined;
}

/**
 * Throws `InvalidSettings` if a running process works for another Node. Both would listen on one port, the kernel would
 * distribute connections over both, and kube-proxy would get the endpoints of either node by chance. For the same Node
 * this is a planned restart.
 */
export function assertSameNode(running: RunningNode | undefined, nodeName: string): void {
  if (running === undefined || running.node === nodeName) return;
  throw new WrapperError(
    'InvalidSettings',
    `another kube-proxy-wrapper, for the Node ${JSON.stringify(running.node)}, listens at ` +
      `${addressText(running.address)}; this one is for ${JSON.stringify(nodeName)} and does not start, because ` +
      'clients would get the endpoints of either Node by chance; stop the other one, or correct --node-name; two ' +
      'wrappers on one machine need different ports (--listen, --admin-listen and https.listen)',
  );
}
