import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { assertLoopback } from '../auth/loopback-access.ts';
import { makeSelfSigned } from '../http/self-signed-certificate.ts';
import {
  certificateFileReader,
  loadCertificate,
  type ServerCertificate,
} from '../http/server-certificate.ts';
import { assertConfidential } from '../upstream/assert-confidential.ts';
import type { HttpsListenerOptions, ListenersOptions } from './listeners.ts';

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
  return openCertificate(https, logger);
}

async function openCertificate(
  { certificate, clientCaFile }: HttpsListenerOptions,
  logger: Logger,
): Promise<ServerCertificate> {
  const clientCaFiles = clientCaFile === undefined ? [] : [clientCaFile];
  if ('certFile' in certificate) {
    const { certFile, keyFile } = certificate;
    const ca = clientCaFile === undefined ? {} : { clientCaFile };
    const read = certificateFileReader({ certFile, keyFile, ...ca });
    return loadCertificate({ read, files: [certFile, keyFile, ...clientCaFiles], logger });
  }
  const { cert, key } = await makeSelfSigned(certificate.selfSigned, logger);
  const read = async () =>
    clientCaFile === undefined
      ? { cert, key }
      : { cert, key, clientCa: await readFile(clientCaFile, 'utf8') };
  return loadCertificate({ read, files: clientCaFiles, logger });
}
