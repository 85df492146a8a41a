import { get, type IncomingMessage } from 'node:http';
import { get as getOverTls } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** With what a process of a test names itself. */
export const PROCESS_HEADER = 'kpw-test-process';

/** A response whose headers have arrived. */
export interface ReceivedResponse {
  readonly status: number;
  /** The process that answered, if it says so; see test/real/faults/named-process.ts. */
  readonly process: string;
  /** The complete lines of the body, those together that arrived together. Throws if the connection breaks. */
  batches(): AsyncIterable<readonly string[]>;
  /** The whole body. Throws if the connection breaks. */
  text(): Promise<string>;
}

export interface ExchangeOptions {
  /** Milliseconds without a byte after which the request fails. */
  readonly idleMs: number;
  /** Milliseconds to pause after each chunk, as a slow client. */
  readonly slowMs: number;
  readonly signal: AbortSignal;
  /** A bearer token. */
  readonly token?: string;
}

/** Sends a GET on a new connection, over TLS to any certificate. Rejects if there is no response. */
export async function sendRequest(
  url: string,
  { idleMs, slowMs, signal, token }: ExchangeOptions,
): Promise<ReceivedResponse> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const identity = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { accept: 'application/json', ...identity };
    const options = { agent: false, headers, signal } as const;
    const request = url.startsWith('https:')
      ? getOverTls(url, { ...options, rejectUnauthorized: false }, resolve)
      : get(url, options, resolve);
    request.setTimeout(idleMs, () => request.destroy(new Error('no data')));
    request.once('error', reject);
  });
  return {
    status: response.statusCode ?? 0,
    process: String(response.headers[PROCESS_HEADER] ?? ''),
    batches: () => batchesOf(response, slowMs),
    text: async () => await text(response),
  };
}

async function* batchesOf(
  response: IncomingMessage,
  slowMs: number,
): AsyncGenerator<readonly string[], void, undefined> {
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield lines.filter((line) => line !== '');
    if (slowMs > 0) await sleep(slowMs);
  }
}
