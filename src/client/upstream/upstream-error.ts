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

const OTHER_AUTHORITY = 'its certificate is signed by another authority';
/** What the codes of OpenSSL and Node mean. Their own texts advise on the command line of Node. */
const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this node is wrong',
  CERT_SIGNATURE_FAILURE: OTHER_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: OTHER_AUTHORITY,
  INVALID_PURPOSE:
    'its certificate, or one of its authorities, is not for servers; see keyUsage, extendedKeyUsage and nsCertType',
  SELF_SIGNED_CERT_IN_CHAIN: OTHER_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: OTHER_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: OTHER_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: OTHER_AUTHORITY,
};

/** The cause of an error of the network or of TLS, by its innermost code; or the HTTP status and its message. */
export function describeCause(error: unknown): string {
  if (error instanceof WrapperError) {
    const { status, cause } = error;
    if (status?.message !== undefined) return `HTTP ${status.code}: ${status.message}`;
    if (status !== undefined) return `HTTP ${status.code}`;
    if (cause !== undefined) return describeCause(cause);
  }
  const { code, message } = innermost(error);
  const text =
    code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? `its certificate is for another name: ${message}`
      : (CERTIFICATE_PROBLEMS[code] ?? message);
  return [code, text].filter((part) => part !== '').join(': ');
}

/**
 * Describes an error of the network by the server's address and its cause.
 *
 * @param about `hasAuthority`: false if the kubeconfig has none
 */
export function unreachable(
  error: unknown,
  server: URL,
  about: { isRelay?: boolean; hasAuthority?: boolean; env?: NodeJS.ProcessEnv } = {},
): WrapperError {
  if (error instanceof WrapperError) return error;
  const { isRelay = false, hasAuthority = true, env = process.env } = about;
  const { code } = innermost(error);
  const detail = describeCause(error);
  const proxy = PROXY_VARIABLES.find((name) => env[name]);
  const lacksAuthority = !hasAuthority && CERTIFICATE_PROBLEMS[code] === OTHER_AUTHORITY;
  const hints = [
    lacksAuthority &&
      '; the kubeconfig has no certificate-authority: add it, because those of the operating system are not used',
    proxy && `; ${proxy} is set, but the connection is direct: see docs/settings.md`,
  ];
  const name = isRelay ? 'relay' : 'API server';
  return new WrapperError(
    'Unreachable',
    `the ${name} at ${addressOf(server)} is unreachable: ${detail}${hints.filter(Boolean).join('')}`,
    { cause: error, isRelay, ...(code === 'ETIMEDOUT' ? { silentMs: KEEP_ALIVE_SILENCE_MS } : {}) },
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
  for (let cause = error; isErrorLike(cause) && !seen.has(cause); cause = cause.cause) {
    seen.add(cause);
    const { code, message } = cause;
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
