import { request as send } from 'node:http';
import { WrapperError } from '../errors.ts';
import { createProtobufCodec } from '../filter/codec/protobuf/codec.ts';
import { ownNodeQuery } from '../proxy/api/kube-proxy-queries.ts';
import { type Query, queryPath } from '../proxy/api/query.ts';
import { parseQueries } from '../proxy/api/query-json.ts';
import { addressText } from '../proxy/util/address.ts';
import { abortable } from '../proxy/util/linked-abort-controller.ts';
import { listenerUsers } from '../proxy/util/proc-net-tcp.ts';

/** Time for all responses to arrive, in milliseconds. */
const RESPONSE_MS = 2_000;
/** Time for a flush of the snapshots, in milliseconds. */
const FLUSH_MS = 3_000;
const MAX_BYTES = 256 * 1024;

/** An address of this process, at which another one may listen already. */
export interface SharedAddress {
  readonly host: string;
  readonly port: number;
  /** The socket that systemd has passed to this process. No other process listens there. */
  readonly fd?: number;
}

/** The process that already listens at an address of this one. */
export interface RunningProcess {
  /** The views that it has open; undefined: it has reported none. */
  readonly queries: readonly Query[] | undefined;
  /** Name of its Node; undefined: it has reported none, or it belongs to another user. */
  readonly node: string | undefined;
  /** UID of its Node; undefined: as above, or it has not read the Node yet. */
  readonly nodeUid: string | undefined;
}

/**
 * Reads from the process that already listens at an address of this one which views it has open, so that this process
 * can open the same ones before it listens, and for which Node it works. Undefined: there is no usable response.
 *
 * Any local process can listen there while no wrapper runs. Therefore the responses are limited in time, bytes and
 * number of views. The views only decide what is opened early. The Node can prevent the start, so it is used only if
 * the listener belongs to the user of this process: the kernel lets no other user share the port, and a process of the
 * same user could stop this one anyway. Never rejects.
 */
export async function readRunningProcess(
  { admin, listen }: { readonly admin: SharedAddress; readonly listen: SharedAddress | undefined },
  nodeName: string,
  userId = process.geteuid?.(),
): Promise<RunningProcess | undefined> {
  const signal = AbortSignal.timeout(RESPONSE_MS);
  // Without a response the caller opens the views that kube-proxy reads.
  const readFrom = async (address: SharedAddress, path: string) =>
    isShareable(address)
      ? await abortable(read(urlOf(address, path), signal), signal)
      : NO_RESPONSE;
  const read200 = async (path: string) => {
    const { status, body } = await readFrom(admin, path).catch(() => NO_RESPONSE);
    return status === 200 ? body.toString() : '';
  };
  const isTrusted = (address: SharedAddress) => belongsTo(address, userId);
  const version = isTrusted(admin) ? read200('/version').then(parseNode) : NOBODY;
  const ownNode =
    listen !== undefined && isTrusted(listen)
      ? readFrom(listen, ownNodePath(nodeName)).then((found) => nodeOfList(found, nodeName))
      : NOBODY;
  // Both are handled before the next await: a rejection that nothing handles ends the process.
  const named = Promise.all([version, ownNode].map(orNobody));
  const queries = parseQueries(await read200('/views'), nodeName);
  const { node, nodeUid } = (await named).find((each) => each.node !== undefined) ?? NOBODY;
  if (queries.length === 0 && node === undefined) return undefined;
  return { queries: queries.length === 0 ? undefined : queries, node, nodeUid };
}

/**
 * Makes the process that listens at the admin address write its newest snapshots. Resolves when it has, when there is
 * none, or after some seconds. Never rejects: the snapshots on disk are then used as they are.
 */
export async function flushRunningProcess(admin: SharedAddress): Promise<void> {
  if (!isShareable(admin)) return;
  const signal = AbortSignal.timeout(FLUSH_MS);
  await abortable(read(urlOf(admin, '/flush'), signal, 'POST'), signal).catch(() => NO_RESPONSE);
}

/** Whether another process may listen at an address too. */
function isShareable({ port, fd }: SharedAddress): boolean {
  return port !== 0 && fd === undefined;
}

/** Whether all sockets that listen at an address belong to a user. */
function belongsTo(address: SharedAddress, userId: number | undefined): boolean {
  const users = isShareable(address) ? [...listenerUsers(address)] : [];
  return users.length > 0 && users.every((user) => user === userId);
}

function ownNodePath(nodeName: string): string {
  return queryPath(ownNodeQuery(nodeName));
}

/**
 * For which Node a process works, from its response to a list of the Node of this process: it is also in releases
 * without /version, and at a process with another admin address. For any other Node, a wrapper answers 403 with the
 * name of its own.
 */
function nodeOfList({ status, body }: Response, nodeName: string): NamedNode {
  if (status === 403) {
    const [, node] = /fieldSelector=metadata\.name=([a-z0-9.-]{1,253})/.exec(body.toString()) ?? [];
    return { node: node === nodeName ? undefined : node, nodeUid: undefined };
  }
  if (status !== 200) return NOBODY;
  const codec = createProtobufCodec();
  const [found] = codec.decodeList([body]).items;
  return found === undefined ? NOBODY : { node: nodeName, nodeUid: codec.meta(found).uid };
}

async function orNobody(named: NamedNode | Promise<NamedNode>): Promise<NamedNode> {
  try {
    return await named;
  } catch {
    return NOBODY;
  }
}

/**
 * Throws `InvalidSettings` if the running process works for another Node. Both would listen on one port, the kernel would
 * distribute connections over both, and kube-proxy would get the endpoints of either node by chance. For the same
 * Node this is a planned restart.
 */
export function assertSameNode(
  { node }: Pick<RunningProcess, 'node'>,
  nodeName: string,
  addresses: readonly SharedAddress[],
): void {
  if (node === undefined || node === nodeName) return;
  throw new WrapperError(
    'InvalidSettings',
    `another kube-proxy-wrapper, for the Node ${JSON.stringify(node)}, listens at ${addresses.map(addressText).join(' or ')}; this one is ` +
      `for ${JSON.stringify(nodeName)} and does not start, because clients would get the endpoints of either Node by ` +
      'chance; stop the other one, or correct --node-name; two wrappers on one machine need different ports ' +
      '(--listen and --admin-listen)',
  );
}

type NamedNode = Pick<RunningProcess, 'node' | 'nodeUid'>;

const NOBODY: NamedNode = { node: undefined, nodeUid: undefined };

function parseNode(text: string): NamedNode {
  try {
    const { node, nodeUid } = JSON.parse(text) as { node?: unknown; nodeUid?: unknown };
    return { node: shortText(node), nodeUid: shortText(nodeUid) };
  } catch {
    return NOBODY;
  }
}

/** Names and UIDs have at most 253 characters. */
function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 253 ? value : undefined;
}

function urlOf({ host, port }: SharedAddress, path: string): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${addressText({ host: name, port })}${path}`;
}

interface Response {
  readonly status: number;
  readonly body: Buffer;
}

const NO_RESPONSE: Response = { status: 0, body: Buffer.alloc(0) };
const PROTOBUF = { accept: 'application/vnd.kubernetes.protobuf' };

/** Rejects if the response exceeds the limits. */
function read(url: string, signal: AbortSignal, method = 'GET'): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { method, agent: false, signal, headers: PROTOBUF };
    const request = send(url, options, async (response) => {
      try {
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of response as AsyncIterable<Buffer>) {
          bytes += chunk.length;
          if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
          chunks.push(chunk);
        }
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) });
      } catch (error) {
        request.destroy();
        reject(error);
      }
    });
    request.on('error', reject);
    request.end();
  });
}
