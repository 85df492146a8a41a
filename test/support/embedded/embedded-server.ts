import { afterEach } from '@jest/globals';
import {
  type ApiServer,
  type ApiServerOptions,
  createApiServer,
} from '../../../embedded/api-server.ts';
import type { KubeObject } from '../../../embedded/kube-object.ts';

/** A listening server and its URL. */
export interface RunningServer {
  readonly server: ApiServer;
  readonly url: string;
}

/**
 * Returns a function that starts an embedded API server. After each test all started servers are closed. Closing waits
 * until no connection is left, so that a test that leaks a connection fails.
 */
export function useApiServer(): (options?: ApiServerOptions) => Promise<RunningServer> {
  const running: ApiServer[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });
  return async (options = {}) => {
    const server = createApiServer(options);
    running.push(server);
    return { server, url: await server.listen() };
  };
}

/** A Node with labels. */
export function node(name: string, labels: Record<string, string> = {}): KubeObject {
  return { metadata: { name, labels } };
}

/** A Service with one port. */
export function service(name: string, spec: Record<string, unknown> = {}): KubeObject {
  return { metadata: { name, namespace: 'default' }, spec: { ports: [{ port: 80 }], ...spec } };
}

/** A slice of a Service, with one endpoint for each address. */
export function slice(name: string, serviceName: string, addresses: readonly string[]): KubeObject {
  return {
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': serviceName } },
    addressType: 'IPv4',
    ports: [{ port: 80 }],
    endpoints: addresses.map((address) => ({ addresses: [address] })),
  };
}
