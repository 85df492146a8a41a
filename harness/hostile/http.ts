import { type OutgoingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** How to send a GET. */
export interface SendOptions {
  /** The request target, unchanged. Default: path and query of the URL. */
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Bearer token. */
  readonly token?: string;
  /** PEM certificates for https. */
  readonly ca?: string | Buffer;
  /** Milliseconds until the request is given up. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Bytes of the body to keep; the rest is read and dropped. Default: all. */
  readonly keepBytes?: number;
  /** Ends the request and resolves as soon as the body so far contains this. */
  readonly until?: string;
}

/** An answer, or why there is none. */
export interface Answered {
  /** HTTP status; 0: no answer. */
  readonly status: number;
  readonly body: string;
  /** Error code or message if there was no complete answer; else empty. */
  readonly error: string;
  /** Milliseconds from the start to the end of the answer. */
  readonly ms: number;
}

/** Sends one GET on a connection of its own. Never rejects: a lost connection is a result here. */
export function send(url: string, options: SendOptions = {}): Promise<Answered> {
  const { headers = {}, token, ca, timeoutMs = 10_000 } = options;
  const { keepBytes = Number.POSITIVE_INFINITY, until } = options;
  const target = new URL(url);
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const start = performance.now();
  return new Promise((resolve) => {
    let status = 0;
    let text = '';
    const finish = (error: string): void => {
      clearTimeout(timer);
      resolve({ status, body: text, error, ms: Math.round(performance.now() - start) });
      outgoing.destroy();
    };
    const begin = target.protocol === 'https:' ? requestHttps : requestHttp;
    const outgoing = begin(target, {
      agent: false,
      path: options.path ?? `${target.pathname}${target.search}`,
      ...(ca === undefined ? {} : { ca, servername: 'localhost' }),
      headers: { ...authorization, ...headers },
    });
    const timer = setTimeout(() => finish(`no answer in ${timeoutMs} ms`), timeoutMs);
    outgoing.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
    outgoing.once('response', (response) => {
      status = response.statusCode ?? 0;
      response.setEncoding('latin1').on('data', (chunk: string) => {
        if (text.length < keepBytes) text += chunk;
        if (until !== undefined && text.includes(until)) finish('');
      });
      response.once('end', () => finish(''));
      response.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
    });
    outgoing.end();
  });
}

/** Runs `work` for each item, `lanes` at a time. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const run = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, run));
}
