import { get as httpGet, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WrapperError } from '../errors.ts';
import { type Flags, textFlag, UsageError } from './command.ts';

/** Default address of the admin port. */
export const DEFAULT_ADMIN = '127.0.0.1:10361';

/** How long a command waits for the wrapper, in milliseconds. */
const ANSWER_MS = 30_000;

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

/**
 * Sends a request to the running wrapper. Throws `Unreachable` if there is none, and otherwise the error of its
 * response.
 */
export async function requestAdmin<T>(url: string, path: string): Promise<T> {
  const { statusCode, text } = await get(url, path);
  const body = parse(text) as { code?: string; error?: string };
  if (statusCode === 200) return body as T;
  const code = statusCode === 404 ? 'NotFound' : 'NotReady';
  throw new WrapperError(code, body.error ?? text.slice(0, 200));
}

async function get(url: string, path: string): Promise<{ statusCode: number; text: string }> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      httpGet(`${url}${path}`, { signal }, resolve).once('error', reject);
    });
    return { statusCode: response.statusCode ?? 0, text: await text(response) };
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'Unreachable');
    throw new WrapperError(
      'Unreachable',
      `no wrapper answers at ${url} (${message}); check that it runs on this node and that --admin is right`,
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
