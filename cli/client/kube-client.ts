import { pino } from 'pino';
import { type Credentials, loadCredentials } from '../../src/client/credentials/credentials.ts';
import { Upstream } from '../../src/client/upstream/upstream.ts';
import { readBody } from '../../src/client/upstream/upstream-body.ts';
import type { UserKubeconfig } from '../command-line/user-kubeconfig.ts';
import { impersonating } from './impersonation.ts';
import { notAnApiServer, responseError } from './response-error.ts';

/** The API server as the user of a command reaches it. */
export interface KubeClient {
  readonly credentials: Credentials;
  /** For requests other than those of {@link get}. */
  readonly upstream: Upstream;
  /**
   * Sends a GET request and parses the JSON of the response. Throws `Refused` for an error of the API server; the
   * message of a 403 says which right is needed.
   *
   * @param accept default: JSON
   */
  get<T>(path: string, right: string, accept?: string): Promise<T>;
}

const ANSWER_MS = 60_000;
const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** Reads the kubeconfig, calls `use`, and then closes the connections. Throws what is wrong with the kubeconfig. */
export async function withKubeClient<T>(
  identity: UserKubeconfig,
  use: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const logger = pino({ level: 'silent' });
  const { kubeconfig, context } = identity;
  const credentials = impersonating(
    await loadCredentials({ kubeconfig, context, attended: true, logger }),
    identity,
  );
  const upstream = new Upstream({ credentials, logger });
  try {
    return await use({
      credentials,
      upstream,
      get: (path, right, accept) => get(upstream, path, right, accept),
    });
  } finally {
    await upstream.close();
    credentials.close();
  }
}

async function get<T>(
  upstream: Upstream,
  path: string,
  right: string,
  accept = 'application/json',
): Promise<T> {
  const response = await upstream.request({
    method: 'GET',
    path,
    headers: { accept, 'accept-encoding': 'gzip' },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const body = await readBody(response, MAX_BODY_BYTES);
  const text = body.toString('utf8');
  const { statusCode } = response;
  if (statusCode !== 200) {
    throw responseError(upstream.address, statusCode, text, right);
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    throw notAnApiServer(upstream.address, statusCode);
  }
}
