import { setTimeout as delay } from 'node:timers/promises';
import { WrapperError } from '../errors.ts';
import { createProtobufCodec } from '../filter/codec/protobuf/codec.ts';
import { ownNodeQuery } from '../proxy/api/kube-proxy-queries.ts';
import { type Query, queryPath } from '../proxy/api/query.ts';
import { parseQueries } from '../proxy/api/query-json.ts';
import type { ListenerAddress, RunningNode } from '../proxy/hot-restart/hot-restart.ts';
import {
  IDENTITY_PATH,
  type NodeIdentity,
  parseIdentity,
} from '../proxy/hot-restart/node-identity.ts';
import { addressText } from '../proxy/util/address.ts';
import { listenerUsers } from '../proxy/util/proc-net-tcp.ts';
import { type BoundedResponse, boundedRequest } from './bounded-request.ts';

/** Time for all responses to arrive, in milliseconds. */
const RESPONSE_MS = 2_000;
/** Time for a flush of the snapshots, in milliseconds. */
const FLUSH_MS = 3_000;
const POLL_MS = 50;

/** The addresses of this process, at which another one may listen already. */
export interface OwnAddresses {
  readonly admin: ListenerAddress;
  readonly listen?: ListenerAddress | undefined;
  readonly https?: ListenerAddress | undefined;
}

/** The process that already listens at addresses of this one. Normally it is the last process, of which this is the next. */
export interface RunningProcess {
  /** The views that it has open; undefined: it has reported none. */
  readonly queries: readonly Query[] | undefined;
  /** For which Node it works, for each address that says so. More than one process may listen at them. */
  readonly nodes: readonly RunningNode[];
  /** An address of a process that does not say for which Node it works, and that cannot be the last process. */
  readonly unknown: ListenerAddress | undefined;
}

/**
 * Reads from the process that already listens at addresses of this one which views it has open, so that this process
 * can open the same ones before it listens, and for which Node it works.
 *
 * Any local process can listen there while no wrapper runs. Therefore the responses are limited in time, bytes and
 * number of views. The views only decide what is opened early. The Node can prevent the start, so it is used only if
 * the listener belongs to the user of this process: the kernel lets no other user share the port, and a process of the
 * same user could stop this one anyway. Never rejects.
 */
export async function readRunningProcess(
  addresses: OwnAddresses,
  nodeName: string,
  userId = process.geteuid?.(),
): Promise<RunningProcess> {
  const signal = AbortSignal.timeout(RESPONSE_MS);
  const [queries, nodes] = await Promise.all([
    readQueries(addresses.admin, nodeName, signal),
    readNodes(addresses, { nodeName, userId, signal }),
  ]);
  return { queries, ...nodes };
}

/**
 * Makes the process that listens at the admin address write its newest snapshots. Resolves when it has, when there is
 * none, or after some seconds. Never rejects: the snapshots on disk are then used as they are.
 */
export async function flushRunningProcess(admin: ListenerAddress): Promise<void> {
  if (!isShareable(admin)) return;
  const signal = AbortSignal.timeout(FLUSH_MS);
  await boundedRequest({ scheme: 'http', ...admin, path: '/flush', method: 'POST', signal });
}

/** Without these, the caller opens the views that kube-proxy reads. */
async function readQueries(
  admin: ListenerAddress,
  nodeName: string,
  signal: AbortSignal,
): Promise<readonly Query[] | undefined> {
  if (!isShareable(admin)) return undefined;
  const response = await boundedRequest({ scheme: 'http', ...admin, path: '/views', signal });
  const queries = parseQueries(textOf(response), nodeName);
  return queries.length === 0 ? undefined : queries;
}

/** Where a process says for which Node it works, for each of its listeners. */
interface IdentitySource {
  readonly scheme: 'http' | 'https';
  readonly path: string;
  readonly parse: (response: BoundedResponse) => NodeIdentity;
}

const ofDocument = (response: BoundedResponse) => parseIdentity(textOf(response));

function sourcesOf(nodeName: string): Record<keyof OwnAddresses, IdentitySource> {
  return {
    admin: { scheme: 'http', path: '/version', parse: ofDocument },
    // Releases without /version answer this, too.
    listen: {
      scheme: 'http',
      path: queryPath(ownNodeQuery(nodeName)),
      parse: (response) => nodeOfList(response, nodeName),
    },
    https: { scheme: 'https', path: IDENTITY_PATH, parse: ofDocument },
  };
}

/**
 * Reads at each address for which Node the process there works. A process that does not say it can be an older release,
 * or be too busy. It is the last process with the same settings only if there is one at the admin address, too.
 *
 * While it is unknown, this is repeated: a process that starts or ends has its listeners open one after the other.
 */
async function readNodes(
  addresses: OwnAddresses,
  how: {
    readonly nodeName: string;
    readonly userId?: number | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Pick<RunningProcess, 'nodes' | 'unknown'>> {
  const { nodeName, userId, signal } = how;
  const isOurs = (address: ListenerAddress | undefined) =>
    address !== undefined && belongsTo(address, userId);
  const sources = Object.entries(sourcesOf(nodeName)) as [keyof OwnAddresses, IdentitySource][];
  const readAt = async ([name, { scheme, path, parse }]: (typeof sources)[number]) => {
    const address = addresses[name];
    if (address === undefined || !isOurs(address)) return [];
    const identity = parse(await boundedRequest({ scheme, ...address, path, signal }));
    return identity.node === undefined ? [] : [{ address, ...identity }];
  };
  for (;;) {
    // Before the requests: if it opens later, it has not been asked.
    const hasAdmin = isOurs(addresses.admin);
    const nodes = (await Promise.all(sources.map(readAt))).flat();
    if (nodes.length > 0 || hasAdmin) return { nodes, unknown: undefined };
    const unknown = [addresses.listen, addresses.https].find(isOurs);
    if (unknown === undefined || signal.aborted) return { nodes, unknown };
    await delay(POLL_MS);
  }
}

/** Whether another process may listen at an address too. */
function isShareable({ port, fd }: ListenerAddress): boolean {
  return port !== 0 && fd === undefined;
}

/** Whether there are sockets that listen at an address, and all of them belong to a user. */
function belongsTo(address: ListenerAddress, userId: number | undefined): boolean {
  const users = isShareable(address) ? [...listenerUsers(address)] : [];
  return users.length > 0 && users.every((user) => user === userId);
}

/**
 * For which Node a process works, from its response to a list of the Node of this process. For any other Node, a
 * wrapper answers 403 with the name of its own.
 */
function nodeOfList({ status, body }: BoundedResponse, nodeName: string): NodeIdentity {
  if (status === 403) {
    const [, node] = /fieldSelector=metadata\.name=([a-z0-9.-]{1,253})/.exec(body.toString()) ?? [];
    return { node: node === nodeName ? undefined : node, nodeUid: undefined };
  }
  if (status !== 200) return NOBODY;
  try {
    const codec = createProtobufCodec();
    const [found] = codec.decodeList([body]).items;
    // It lists this Node, although there may be none of this name.
    return { node: nodeName, nodeUid: found && codec.meta(found).uid };
  } catch {
    // Another program has answered.
    return NOBODY;
  }
}

const NOBODY: NodeIdentity = { node: undefined, nodeUid: undefined };

function textOf({ status, body }: BoundedResponse): string {
  return status === 200 ? body.toString() : '';
}

/**
 * Throws `InvalidSettings` if a running process works for another Node, or if it is unknown. Both would listen on one
 * port, the kernel would distribute connections over both, and kube-proxy would get the endpoints of either node by
 * chance. For the same Node this is a planned restart.
 */
export function assertSameNode(
  { nodes, unknown }: Pick<RunningProcess, 'nodes' | 'unknown'>,
  nodeName: string,
  admin: ListenerAddress,
): void {
  const other = nodes.find(({ node }) => node !== nodeName)?.node;
  if (other !== undefined) {
    const where = nodes.filter(({ node }) => node === other);
    throw new WrapperError(
      'InvalidSettings',
      `another kube-proxy-wrapper, for the Node ${JSON.stringify(other)}, listens at ` +
        `${where.map(({ address }) => addressText(address)).join(' and ')}; this one is for ` +
        `${JSON.stringify(nodeName)} and does not start, because clients would get the endpoints of either Node by ` +
        'chance; stop the other one, or correct --node-name; two wrappers on one machine need different ports ' +
        '(--listen, --admin-listen and https.listen)',
    );
  }
  if (unknown === undefined) return;
  throw new WrapperError(
    'InvalidSettings',
    `another process of this user listens at ${addressText(unknown)}; it does not say for which Node, and does not ` +
      `listen at ${addressText(admin)} (adminListen), too, so this is not a restart with the same settings; this ` +
      'process does not start, because clients would get the responses of either process by chance; stop the other ' +
      'one, or use another port; for a restart without a gap, keep adminListen',
  );
}
