import { type Agent, get as httpGet, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WrapperError } from '../../errors.ts';
import { type Flags, textFlag, UsageError } from '../command-line/flags.ts';

/** Default address of the admin port. */
export const DEFAULT_ADMIN = '127.0.0.1:10361';

/** How long a command waits for the wrapper, in milliseconds. */
const ANSWER_MS = 30_000;

/** A connection to the admin port of one wrapper. */
export interface AdminClient {
  /** URL of the admin port on its node, for messages. */
  readonly url: string;
  /**
   * Sends a GET request and parses the response. Throws `Unreachable` if there is no wrapper, and otherwise the error
   * of its response.
   */
  request<T>(path: string): Promise<T>;
  /** Sends a GET request. Throws `Unreachable`. */
  get(path: string): Promise<AdminResponse>;
  close(): void;
}

export interface AdminResponse {
  readonly statusCode: number;
  readonly text: string;
}

/** URL of the admin port, from `--admin IP:PORT`. */
export function adminUrl(flags: Flags): string {
  const address = textFlag(flags, 'admin') ?? DEFAULT_ADMIN;
  if (!/^[^\s/]+:[0-9]{1,5}$/.test(address)) {
    throw new UsageError(
      `--admin must be IP:PORT, e.g. ${DEFAULT_ADMIN}, not ${JSON.stringify(address)}`,
    );
  }
  return `http://${address}`;
}

export interface AdminClientOptions {
  /** Opens the connections; default: TCP to the URL. */
  readonly agent?: Agent;
  /** What to check if no wrapper answers. */
  readonly advice?: string;
  /** Default 30 s. */
  readonly answerMs?: number;
}

/** Creates a client. It connects when a request is sent. */
export function createAdminClient(url: string, options: AdminClientOptions = {}): AdminClient {
  const { agent, answerMs = ANSWER_MS } = options;
  const { advice = 'check that it runs on this node and that --admin is right' } = options;
  const get = async (path: string): Promise<AdminResponse> => {
    try {
      const signal = AbortSignal.timeout(answerMs);
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        httpGet(`${url}${path}`, { signal, ...(agent && { agent }) }, resolve).once(
          'error',
          reject,
        );
      });
      return { statusCode: response.statusCode ?? 0, text: await text(response) };
    } catch (cause) {
      // The connection may say more than that it failed.
      if (cause instanceof WrapperError) throw cause;
      const { message } = WrapperError.from(cause, 'Unreachable');
      const what = `no wrapper answers at ${url} (${message}); ${advice}`;
      throw new WrapperError('Unreachable', what, { cause });
    }
  };
  return {
    url,
    get,
    async request<T>(path: string) {
      const response = await get(path);
      const body = parse(response.text) as { code?: string; error?: string };
      if (response.statusCode === 200) return body as T;
      const code = response.statusCode === 404 ? 'NotFound' : 'NotReady';
      throw new WrapperError(code, body.error ?? response.text.slice(0, 200));
    },
    close() {
      agent?.destroy();
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
