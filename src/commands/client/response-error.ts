import { WrapperError } from '../../errors.ts';

/**
 * The error of a response of the API server: its own message, for a 403 which right is missing, and for a 401 that the
 * credentials are wrong.
 *
 * @param server its address
 */
export function responseError(
  server: string,
  statusCode: number | undefined,
  body: string,
  right: string,
): WrapperError {
  const message = messageIn(body);
  if (statusCode === 401) {
    const what = `the API server ${server} does not accept the credentials of the kubeconfig`;
    return new WrapperError('Refused', `${what}: ${message ?? 'HTTP 401'}`);
  }
  if (message === undefined) return notAnApiServer(server, statusCode);
  const need = statusCode === 403 ? `you need the right to ${right}: ` : '';
  return new WrapperError('Refused', `${need}${message}`);
}

/** The error of a response that is not that of an API server. */
export function notAnApiServer(server: string, statusCode: number | undefined): WrapperError {
  const what = `${server} does not answer as an API server (HTTP ${statusCode})`;
  return new WrapperError('Refused', `${what}; check the server of the kubeconfig`);
}

/** The message of a Status; undefined: the body is none. */
function messageIn(body: string): string | undefined {
  try {
    return String((JSON.parse(body) as { message?: unknown }).message || '') || undefined;
  } catch {
    return undefined;
  }
}
