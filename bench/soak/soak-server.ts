import { readFileSync } from 'node:fs';
import { createApiServer } from '../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { makeServingCert } from '../../harness/api-server/serving-cert.ts';
import { churn, fill } from './churn.ts';
import { CLIENT_NAMES, type ClientName } from './clients.ts';

/** The API server behind the wrapper, with a cluster in it. */
export interface SoakServer {
  /** Text of a kubeconfig of the wrapper. */
  readonly kubeconfig: string;
  /** Kinds of clients that the wrapper gets. */
  readonly clients: readonly ClientName[];
  /** Changes objects until the signal. Resolves with the number of changes. */
  churn(signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

/**
 * An API server in memory, that cuts its watches and forgets its history now and then.
 *
 * @param folder for its certificate
 */
export async function startEmbeddedServer(folder: string): Promise<SoakServer> {
  const { certFile, keyFile } = await makeServingCert(folder, 'api-server', ['127.0.0.1']);
  const tls = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  const server = createApiServer({ tls, windowSize: 500, bookmarkIntervalMs: 5_000 });
  fill(server);
  return {
    // A relay wants to know who reads from it.
    kubeconfig: kubeconfigFor(await server.listen(), 'soak'),
    clients: CLIENT_NAMES.filter((name) => name !== 'reopeners'),
    churn: (signal) => churn(server, signal),
    close: () => server.close(),
  };
}
