import { get, type IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';

/** A response whose headers have arrived. */
export interface ReceivedResponse {
  readonly status: number;
  /** When the headers arrived, in milliseconds since the epoch. */
  readonly answered: number;
  /** The complete lines of the body. Throws if the connection breaks. */
  lines(): AsyncGenerator<string, void, undefined>;
  /** The whole body. Throws if the connection breaks. */
  text(): Promise<string>;
}

export interface ExchangeOptions {
  /** Milliseconds without a byte after which the request fails. */
  readonly idleMs: number;
  /** Milliseconds to pause after each chunk, as a slow client. */
  readonly slowMs: number;
}

/** Sends a GET on a new connection. Rejects if there is no response. */
export async function sendRequest(
  url: string,
  options: ExchangeOptions,
): Promise<ReceivedResponse> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { accept: 'application/json' };
    const request = get(url, { agent: false, headers }, resolve);
    request.setTimeout(options.idleMs, () => request.destroy(new Error('no data')));
    request.once('error', reject);
  });
  const answered = Date.now();
  return {
    status: response.statusCode ?? 0,
    answered,
    lines: () => linesOf(response, options.slowMs),
    text: async () => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      return text;
    },
  };
}

async function* linesOf(
  response: IncomingMessage,
  slowMs: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line !== '');
    if (slowMs > 0) await sleep(slowMs);
  }
}
