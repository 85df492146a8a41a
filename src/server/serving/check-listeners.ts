import type { Logger } from 'pino';
import { assertLoopback } from '../auth/loopback-access.ts';
import { ServerCertificate } from '../http/server-certificate.ts';
import { assertConfidential } from './assert-confidential.ts';
import type { ListenersOptions } from './listeners.ts';

/**
 * Checks what can be wrong with the settings of the listeners, before anything is built. Returns the certificate for
 * https, if there is https. Rejects with `InvalidSettings`.
 *
 * @param servers the API servers: over https we send them the credentials of callers
 */
export async function checkListeners(
  { http, https }: Pick<ListenersOptions, 'http' | 'https'>,
  servers: readonly URL[],
  logger: Logger,
): Promise<ServerCertificate | undefined> {
  if (http !== undefined) assertLoopback(http.host);
  if (https === undefined) return undefined;
  assertConfidential(servers);
  return ServerCertificate.load(https, logger);
}
