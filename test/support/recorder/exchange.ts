import { get, type IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer that has begun. */
export interface Answer {
  readonly status: number;
  /** When it began, in milliseconds since the epoch. */
  readonly answered: number;
  /** The body in whole lines; a last one without its end is left out. Throws when the connection breaks. */
  lines(): AsyncGenerator<string, void, undefined>;
  /** The whole body. Throws when the connection breaks. */
  text(): Promise<string>;
}

export interface ExchangeOptions {
  /** Milliseconds without a byte after which it is given up. */
  readonly idleMs: number;
  /** Milliseconds of rest after each chunk: a slow client. */
  readonly slowMs: number;
}

/** Asks on a connection of its own. Rejects when there is no answer. */
export async function ask(url: string, options: ExchangeOptions): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { accept: 'application/json' };
    const request = get(url, { agent: false, headers }, resolve);
    request.setTimeout(options.idleMs, () => request.destroy(new Error('silence')));
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
