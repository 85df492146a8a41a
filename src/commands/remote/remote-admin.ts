import type { Socket } from 'node:net';
import { type AdminClient, createAdminClient } from '../client/admin-client.ts';
import type { HttpClientOptions } from '../client/http-client.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { openPortForward } from '../client/port-forward.ts';
import { type Flags, numberFlag, UsageError } from '../command-line/flags.ts';
import type { WrapperPod } from './wrapper-pods.ts';

const ADMIN_PORT = 10361;

/** The admin port of a wrapper in a Pod. Throws UsageError. */
export function adminPort(flags: Flags): number {
  const port = numberFlag(flags, 'admin-port', ' of a port', ADMIN_PORT);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new UsageError(`--admin-port must be a number of a port, not ${port}`);
}

/**
 * A client for the admin port of a wrapper in a Pod. The port listens on the node's loopback only. The kubelet connects
 * there, because the Pod has the node's network.
 */
export function createRemoteAdmin(
  { credentials }: KubeClient,
  pod: WrapperPod,
  port: number,
): AdminClient {
  const connect: HttpClientOptions['connect'] = (_, callback) => {
    openPortForward(credentials, pod, port).then(
      // The HTTP client uses nothing of a socket but the stream.
      (stream) => callback(null, stream as Socket),
      (error: Error) => callback(error, null),
    );
  };
  const advice = `it should run in Pod ${pod.namespace}/${pod.name} on node ${pod.node}; see its log, and --admin-port`;
  return createAdminClient(`http://127.0.0.1:${port}`, { connect, advice });
}
