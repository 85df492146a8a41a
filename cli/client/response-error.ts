import { WrapperError } from '../../src/errors.ts';

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
  const message = statusMessage(body);
  if (statusCode === 401) {
    const what = `the API server ${server} does not accept the credentials of the kubeconfig`;
    return new WrapperError('Refused', `${what}: ${message ?? 'HTTP 401'}`);
  }
  if (message === undefined) return notAnApiServer(server, statusCode);
  if (statusCode !== 403) return new WrapperError('Refused', message);
  // Without the name of the object, so that equal refusals about several Pods are equal.
  const who = message.replace(/^\S+ "[^"]*" is forbidden: /, '');
  return new WrapperError('Refused', `you need the right to ${right}: ${who}`);
}

/** The error of a response that is not that of an API server. */
export function notAnApiServer(server: string, statusCode: number | undefined): WrapperError {
  const what = `${server} does not answer as an API server (HTTP ${statusCode})`;
  return new WrapperError('Refused', `${what}; check the server of the kubeconfig`);
}

/** The message of a Status; undefined: the body is none. */
export function statusMessage(body: string): string | undefined {
  try {
    return String((JSON.parse(body) as { message?: unknown }).message || '') || undefined;
  } catch {
    return undefined;
  }
}
