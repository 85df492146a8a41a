import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type buildConnector, Client } from 'undici';
import { WrapperError } from '../../src/errors.ts';
import { abortable } from '../../src/util/linked-abort-controller.ts';
import { messageOf } from '../../src/util/message-of.ts';

/*
 * The room `client`: how commands reach a wrapper and an API server. It prints nothing.
 *   admin-client.ts, read-pages.ts      the admin port of a wrapper, and lists that have several pages
 *   kube-client.ts, response-error.ts,  the API server
 *   impersonation.ts
 *   port-forward.ts                     a port of a Pod, through the API server
 */

/** How long a command waits for a wrapper on this node, in milliseconds. */
const TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** A connection to the admin port of one wrapper. */
export interface AdminClient {
  /**
   * Sends a GET request and parses the response. Throws `Unanswered` if the response is not there in time,
   * `Unreachable` if no wrapper or another program answers, and otherwise the error of the response.
   */
  request<T>(path: string): Promise<T>;
  /** Ends the connection, also while it is opened. */
  close(): Promise<void>;
}

export interface AdminClientOptions {
  /** Opens the connection, and ends it when the signal is aborted; default: TCP to the URL. */
  readonly connect?: (signal: AbortSignal) => Promise<Duplex>;
  /** What to check if no wrapper answers. */
  readonly advice?: string;
  /** What to do if it does not answer in time. */
  readonly lateAdvice?: string;
  /** The only limit of a request: time until its whole response is there, in milliseconds; default 30,000. */
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
    lateAdvice = 'see its log',
    timeoutMs = TIMEOUT_MS,
  } = options;
  const closed = new AbortController();
  const client = new Client(url, {
    connect: connect && connector(connect, closed.signal),
    maxResponseSize: MAX_RESPONSE_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const get = async (path: string) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const receive = async () => {
      const { statusCode, body } = await client.request({ path, method: 'GET', signal });
      return { statusCode, text: await body.text() };
    };
    // undici notices its signal only when it has a connection.
    return await abortable(receive(), signal).catch((cause) =>
      signal.aborted ? late(cause) : unreachable(cause),
    );
  };
  const late = (cause: unknown): never => {
    const what = `the wrapper at ${url} has not answered within ${timeoutMs / 1000} s`;
    throw new WrapperError('Unanswered', `${what}; ${lateAdvice}`, { cause });
  };
  const unreachable = (cause: unknown): never => {
    // The connection may say more than that it failed.
    if (cause instanceof WrapperError) throw cause;
    const what = `no wrapper answers at ${url} (${messageOf(cause)}); ${advice}`;
    throw new WrapperError('Unreachable', what, { cause });
  };
  return {
    async request<T>(path: string) {
      const { statusCode, text } = await get(path);
      const body = parse(text);
      if (statusCode === 200 && typeof body.node === 'string') return body as T;
      const error = errorIn(body, statusCode, text);
      if (error !== undefined) throw error;
      const [said = ''] = text.trim().split('\n', 1);
      const isStatus = body.kind === 'Status';
      const reason = isStatus ? String(body.message) : said.slice(0, MAX_SAID);
      const what = `${url} does not answer as the admin port of a wrapper (HTTP ${statusCode}: ${reason})`;
      const hint = isStatus ? ', but as the port of listen or an API server' : '';
      throw new WrapperError('Unreachable', `${what}${hint}; ${advice}`);
    },
    async close() {
      closed.abort();
      await client.destroy();
    },
  };
}

/** In the form of undici, which does not end a connection that it has not got yet. */
function connector(
  connect: NonNullable<AdminClientOptions['connect']>,
  signal: AbortSignal,
): buildConnector.connector {
  return (_, callback) => {
    connect(signal).then(
      // It uses nothing of a socket but the stream.
      (stream) => callback(null, stream as Socket),
      (error: Error) => callback(error, null),
    );
  };
}

/** Characters of the answer of another program that are printed. */
const MAX_SAID = 100;

/** Any version of the wrapper lists its paths if it does not have the requested one. */
const PATHS = '/healthz, /readyz and /metrics';

/** The error in a response of a wrapper; undefined: another program has responded. */
function errorIn(body: Body, statusCode: number, text: string): WrapperError | undefined {
  const code = statusCode === 404 ? 'NotFound' : 'NotReady';
  if (statusCode === 200) return undefined;
  if (typeof body.code === 'string' && typeof body.error === 'string')
    return new WrapperError(code, body.error);
  if (statusCode === 404 && text.includes(PATHS)) return new WrapperError(code, text.trim());
  // A listener that is at its limits; the port of listen refuses these paths with 403 before.
  const isLimit = body.kind === 'Status' && [408, 429, 431, 503].includes(statusCode);
  return isLimit ? new WrapperError(code, String(body.message)) : undefined;
}

/** What distinguishes the responses of a wrapper. */
type Body = Partial<Record<'node' | 'code' | 'error' | 'kind' | 'message', unknown>>;

function parse(text: string): Body {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
