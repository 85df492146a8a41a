import type { buildConnector } from 'undici';
import request from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';
import { WrapperError } from '../../errors.ts';
import { messageOf } from '../../util/message-of.ts';

/*
 * The room `client`: how commands reach a wrapper and an API server. It prints nothing.
 *   admin-client.ts                     the admin port of a wrapper; read-pages.ts, read-status.ts: some of its answers
 *   kube-client.ts, response-error.ts   the API server
 *   port-forward.ts                     a port of a Pod, through the API server
 */

/** How long a command waits for a whole response, in milliseconds. */
const TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** A connection to the admin port of one wrapper. */
export interface AdminClient {
  /**
   * Sends a GET request and parses the response. Throws `Unreachable` if there is no wrapper, and otherwise the error
   * of its response.
   */
  request<T>(path: string): Promise<T>;
  close(): Promise<void>;
}

export interface AdminClientOptions {
  /** Opens the connection; default: TCP to the URL. */
  readonly connect?: buildConnector.connector;
  /** What to check if no wrapper answers. */
  readonly advice?: string;
  /** Time for a whole response, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
}

/** Flags that name the wrapper of this node. */
export interface AdminFlags {
  /** `IP:PORT`. */
  readonly admin: string;
}

/** Calls `use` with the wrapper of this node, and then closes the connection. */
export async function withAdmin<T>(
  { admin }: AdminFlags,
  use: (admin: AdminClient) => Promise<T>,
): Promise<T> {
  const client = createAdminClient(`http://${admin}`);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** Creates a client. It connects when a request is sent. */
export function createAdminClient(url: string, options: AdminClientOptions = {}): AdminClient {
  const {
    connect,
    advice = 'check that it runs on this node and that --admin is right',
    timeoutMs = TIMEOUT_MS,
  } = options;
  const client = new Client(url, { connect, maxResponseSize: MAX_RESPONSE_BYTES });
  const get = async (path: string) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const { statusCode, body } = await request.call(client, { path, method: 'GET', signal });
    return { statusCode, text: await body.text() };
  };
  const unreachable = (cause: unknown): never => {
    // The connection may say more than that it failed.
    if (cause instanceof WrapperError) throw cause;
    const what = `no wrapper answers at ${url} (${messageOf(cause)}); ${advice}`;
    throw new WrapperError('Unreachable', what, { cause });
  };
  return {
    async request<T>(path: string) {
      const { statusCode, text } = await get(path).catch(unreachable);
      const body = parse(text) as { error?: string };
      if (statusCode === 200) return body as T;
      const code = statusCode === 404 ? 'NotFound' : 'NotReady';
      throw new WrapperError(code, body.error ?? text.slice(0, 200));
    },
    close: () => client.destroy(),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
