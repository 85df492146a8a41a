import { get as httpGet, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WrapperError } from '../errors.ts';
import { type Flags, textFlag, UsageError } from './command.ts';

/** Where a running wrapper answers, unless told otherwise. */
export const DEFAULT_ADMIN = '127.0.0.1:10361';

/** For how long a command waits for the wrapper, in milliseconds. */
const ANSWER_MS = 30_000;

/** URL of the wrapper's admin port, from `--admin IP:PORT`. */
export function adminUrl(flags: Flags): string {
  const address = textFlag(flags, 'admin') ?? DEFAULT_ADMIN;
  if (!/^[^\s/]+:[0-9]{1,5}$/.test(address)) {
    throw new UsageError(
      `--admin is IP:PORT, e.g. ${DEFAULT_ADMIN}, not ${JSON.stringify(address)}`,
    );
  }
  return `http://${address}`;
}

/**
 * Asks the running wrapper. Throws `Unreachable` when there is none, and what it answers when it cannot say.
 */
export async function askAdmin<T>(url: string, path: string): Promise<T> {
  const { statusCode, said: answer } = await get(url, path);
  const body = parse(answer) as { code?: string; error?: string };
  if (statusCode === 200) return body as T;
  const said = body.error ?? answer.slice(0, 200);
  const code = statusCode === 404 ? 'NotFound' : 'NotReady';
  throw new WrapperError(code, said);
}

async function get(url: string, path: string): Promise<{ statusCode: number; said: string }> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      httpGet(`${url}${path}`, { signal }, resolve).once('error', reject);
    });
    return { statusCode: response.statusCode ?? 0, said: await text(response) };
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'Unreachable');
    throw new WrapperError(
      'Unreachable',
      `no wrapper answers at ${url} (${message}); is it running on this node, is --admin right?`,
      { cause },
    );
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
