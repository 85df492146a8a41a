import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
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
/** Time between two checks of the last process, in milliseconds. */
const POLL_MS = 250;
/** Time for the last process to end once this one listens, in milliseconds. */
const END_MS = 15_000;

const WAITS =
  'the API server answers no list, and the process before this one still receives changes: this one waits, and serves ' +
  'its snapshot only after that one has ended; check the API server';

/** See {@link createLastProcessFlush}. */
export interface FlushOptions {
  readonly logger: Pick<Logger, 'warn'>;
  /** Aborts when this process listens. */
  readonly listening: AbortSignal;
  /** Aborts when this process stops. */
  readonly stop: AbortSignal;
  /** Only a process of this user counts. Default: that of this process. */
  readonly userId?: number | undefined;
}

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
 * Returns a function for the snapshots of the process that listens at the admin address now. While that process
 * receives changes from the API server, any snapshot is older than what it shows. So the function waits for the end of
 * that, or of the process, and then makes it write its newest snapshots. Resolves when it has, when there is no such
 * process, or after some seconds. Never rejects: the snapshots on disk are then used as they are.
 */
export function createLastProcessFlush(
  admin: ListenAddress,
  { logger, listening, stop, userId = process.geteuid?.() }: FlushOptions,
): () => Promise<void> {
  const inodes = new Set(ownListeners(admin, userId).map(({ inode }) => inode));
  const isThere = (): boolean => ownListeners(admin, userId).some(({ inode }) => inodes.has(inode));
  const receivesChanges = async (): Promise<boolean> => {
    const signal = AbortSignal.timeout(RESPONSE_MS);
    const { status, body } = await boundedRequest({ ...admin, path: '/version', signal });
    return status === 200 && /"receivesChanges":true\b/.test(body.toString());
  };
  return async () => {
    if (!isShareable(admin)) return;
    let endingMs = 0;
    for (let polls = 0; isThere() && !stop.aborted && endingMs < END_MS; polls++) {
      // If this process listens too, a request may reach itself. The other process ends then, and closes this port last.
      if (listening.aborted) endingMs += POLL_MS;
      else if (!(await receivesChanges())) break;
      else if (polls === 0) logger.warn(WAITS);
      await delay(POLL_MS, undefined, { signal: stop }).catch(() => undefined);
    }
    const signal = AbortSignal.timeout(FLUSH_MS);
    await boundedRequest({ ...admin, path: '/flush', method: 'POST', signal });
  };
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
