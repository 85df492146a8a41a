import { get } from 'node:http';
import { WrapperError } from '../errors.ts';
import type { Query } from '../proxy/api/query.ts';
import { parseQueries } from '../proxy/api/query-json.ts';
import { addressText } from '../proxy/util/address.ts';
import { abortable } from '../proxy/util/linked-abort-controller.ts';
import { listenerUsers } from '../proxy/util/proc-net-tcp.ts';

/** Time for all responses to arrive, in milliseconds. */
const RESPONSE_MS = 2_000;
const MAX_BYTES = 256 * 1024;

/** An address of this process, at which another one may listen already. */
export interface AdminAddress {
  readonly host: string;
  readonly port: number;
}

/** The process that already listens at the admin address. */
export interface RunningProcess {
  /** The views that it has open; undefined: it has not said. */
  readonly queries: readonly Query[] | undefined;
  /** Name of its Node; undefined: it has not said, or it belongs to another user. */
  readonly node: string | undefined;
  /** UID of its Node; undefined: as above, or it has not read the Node yet. */
  readonly nodeUid: string | undefined;
}

/**
 * Asks the process that already listens at the admin address which views it has open, so that this process can open
 * the same ones before it listens, and for which Node it works. Undefined: there is no usable response.
 *
 * Any local process can listen there while no wrapper runs. Therefore the responses are limited in time, bytes and
 * number of views. The views only decide what is opened early. The Node can prevent the start, so it is used only if
 * the listener belongs to the user of this process: the kernel lets no other user share the port, and a process of the
 * same user could stop this one anyway. Never rejects.
 */
export async function readRunningProcess(
  address: AdminAddress,
  nodeName: string,
  userId = process.geteuid?.(),
): Promise<RunningProcess | undefined> {
  if (address.port === 0) return undefined;
  const signal = AbortSignal.timeout(RESPONSE_MS);
  // Without a response the caller opens the views that kube-proxy reads.
  const readText = (path: string) =>
    abortable(read(urlOf(address, path), signal), signal).catch(() => '');
  const users = listenerUsers(address);
  const [views, version] = await Promise.all([readText('/views'), readText('/version')]);
  const queries = parseQueries(views, nodeName);
  const isOwnUser = users.size > 0 && [...users].every((user) => user === userId);
  const { node, nodeUid } = isOwnUser ? parseNode(version) : NOBODY;
  if (queries.length === 0 && node === undefined) return undefined;
  return { queries: queries.length === 0 ? undefined : queries, node, nodeUid };
}

/**
 * Throws `InvalidSettings` if the running process works for another Node. Both would listen on one port, the kernel would
 * distribute connections over both, and kube-proxy would get the endpoints of either node by chance. For the same
 * Node this is a planned restart.
 */
export function assertSameNode(
  { node }: Pick<RunningProcess, 'node'>,
  nodeName: string,
  address: AdminAddress,
): void {
  if (node === undefined || node === nodeName) return;
  throw new WrapperError(
    'InvalidSettings',
    `another kube-proxy-wrapper, for the Node ${JSON.stringify(node)}, listens at ${addressText(address)}; this one is ` +
      `for ${JSON.stringify(nodeName)} and does not start, because clients would get the endpoints of either Node by ` +
      'chance; stop the other one, or correct --node-name; two wrappers on one machine need different ports ' +
      '(--listen and --admin-listen)',
  );
}

const NOBODY = { node: undefined, nodeUid: undefined };

function parseNode(text: string): Pick<RunningProcess, 'node' | 'nodeUid'> {
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

function urlOf({ host, port }: AdminAddress, path: string): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${addressText({ host: name, port })}${path}`;
}

/** Rejects if the response exceeds the limits. */
function read(url: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, signal }, async (response) => {
      try {
        if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}`);
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of response as AsyncIterable<Buffer>) {
          bytes += chunk.length;
          if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
          chunks.push(chunk);
        }
        resolve(Buffer.concat(chunks).toString());
      } catch (error) {
        request.destroy();
        reject(error);
      }
    });
    request.on('error', reject);
  });
}
