import type { Socket } from 'node:net';
import { WrapperError } from '../../errors.ts';
import { type AdminClient, createAdminClient } from '../client/admin-client.ts';
import type { HttpClientOptions } from '../client/http-client.ts';
import { type KubeClient, withKubeClient } from '../client/kube-client.ts';
import { openPortForward } from '../client/port-forward.ts';
import { type Flags, numberFlag, textFlag, UsageError } from '../command-line/flags.ts';
import { userKubeconfig } from '../command-line/user-kubeconfig.ts';
import type { WrapperPod } from './wrapper-pods.ts';

/** The wrappers of a cluster, as the flags of a command choose and reach them. */
export interface Wrappers {
  readonly client: KubeClient;
  readonly flags: Flags;
  /** Only the wrapper on this node; absent: all. */
  readonly node: string | undefined;
  /** Nodes that are read at the same time. */
  readonly limit: number;
  /** Calls `use` with the admin port of a wrapper. Resolves with the error if it rejects. */
  ask<T>(pod: WrapperPod, use: (admin: AdminClient) => Promise<T>): Promise<T | WrapperError>;
}

/** Calls `use` with the wrappers of the user's cluster, and then closes the connections. Throws UsageError. */
export async function withWrappers<T>(
  flags: Flags,
  use: (wrappers: Wrappers) => Promise<T>,
): Promise<T> {
  const node = targetNode(flags);
  const port = adminPort(flags);
  const limit = parallel(flags);
  return await withKubeClient(userKubeconfig(flags), (client) =>
    use({
      client,
      flags,
      node,
      limit,
      ask: (pod, read) => ask(openAdmin(client, pod, port), read),
    }),
  );
}

async function ask<T>(
  admin: AdminClient,
  use: (admin: AdminClient) => Promise<T>,
): Promise<T | WrapperError> {
  try {
    return await use(admin);
  } catch (error) {
    return WrapperError.from(error, 'Unreachable');
  } finally {
    await admin.close();
  }
}

/**
 * A client for the admin port of a wrapper in a Pod. The port listens on the node's loopback only. The kubelet connects
 * there, because the Pod has the node's network.
 */
function openAdmin({ credentials }: KubeClient, pod: WrapperPod, port: number): AdminClient {
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

const ADMIN_PORT = 10361;
const PARALLEL = 10;

function adminPort(flags: Flags): number {
  const port = numberFlag(flags, 'admin-port', ' of a port', ADMIN_PORT);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new UsageError(`--admin-port must be a number of a port, not ${port}`);
}

function parallel(flags: Flags): number {
  const number = numberFlag(flags, 'parallel', ' of nodes', PARALLEL);
  if (Number.isInteger(number) && number > 0) return number;
  throw new UsageError(`--parallel must be a number of nodes, not ${number}`);
}

function targetNode(flags: Flags): string | undefined {
  const node = textFlag(flags, 'node');
  if (node !== undefined && flags['all-nodes'] === true) {
    throw new UsageError('use --node or --all-nodes, not both');
  }
  return node;
}
