import { WrapperError } from '../../errors.ts';

/** `host:port` of a server, for messages. */
export function addressOf(server: URL): string {
  const port = server.port || (server.protocol === 'http:' ? '80' : '443');
  return `${server.hostname}:${port}`;
}

/** What client-go reads. Here a proxy is never used: if it failed, the node would be cut off. */
const PROXY_VARIABLES = ['HTTPS_PROXY', 'https_proxy'];
/** How long a path is dead before TCP keep-alive notices, in milliseconds; see Line. */
const KEEP_ALIVE_SILENCE_MS = 25_000;

/** Describes an error of the network by the API server's address and the innermost code. */
export function unreachable(
  error: unknown,
  server: URL,
  env: NodeJS.ProcessEnv = process.env,
): WrapperError {
  if (error instanceof WrapperError) return error;
  const { code, message } = innermost(error);
  const detail = [code, message].filter((part) => part !== '').join(': ');
  const proxy = PROXY_VARIABLES.find((name) => env[name]);
  const hint = proxy && `; ${proxy} is set, but the connection is direct: see docs/settings.md`;
  return new WrapperError(
    'Unreachable',
    `the API server at ${addressOf(server)} is unreachable: ${detail}${hint ?? ''}`,
    { cause: error, ...(code === 'ETIMEDOUT' ? { silentMs: KEEP_ALIVE_SILENCE_MS } : {}) },
  );
}

/** Identifies the cause of a failure, so that each is logged once: the code of the network, or the HTTP status. */
export function causeOf(error: WrapperError | undefined): string {
  return `${innermost(error).code} ${error?.status?.code ?? ''}`;
}

/** The innermost error, because the error of the socket says the most. */
function innermost(error: unknown): { code: string; message: string } {
  let found = { code: '', message: String(error) };
  const seen = new Set<unknown>();
  for (let each = error; isErrorLike(each) && !seen.has(each); each = each.cause) {
    seen.add(each);
    const { code, message } = each;
    // An AggregateError has a code and no message.
    if (typeof code === 'string' || found.code === '') found = { code: code ?? '', message };
  }
  return found;
}

function isErrorLike(
  error: unknown,
): error is { readonly code?: string; readonly message: string; readonly cause?: unknown } {
  return typeof error === 'object' && error !== null && 'message' in error;
}
