import { WrapperError } from '../../src/errors.ts';
import { type AdminClient, createAdminClient } from '../client/admin-client.ts';
import { type KubeClient, withKubeClient } from '../client/kube-client.ts';
import { openPortForward } from '../client/port-forward.ts';
import { type KubeconfigFlags, userKubeconfig } from '../command-line/user-kubeconfig.ts';
import type { PodFlags, WrapperPod } from './wrapper-pods.ts';

/*
 * The room `remote`: kubectl kpw, which reaches the wrappers of all nodes through the API server.
 *   wrappers.ts, wrapper-pods.ts,                         which wrappers there are, and how they are reached
 *   list-pods.ts, list-nodes.ts
 *   cluster-status.ts, cluster-report.ts                  status: one line for all nodes with the same outcome
 *   pod-trouble.ts, next-pod.ts, roll-out.ts,             what only the cluster knows about a node
 *   kube-proxy-pods.ts, relay-pods.ts, cluster-labels.ts
 *   remote-explain.ts                                     explain, of one node or all
 */

/** Flags that choose wrappers, and how they are reached. */
export interface WrapperFlags extends PodFlags, KubeconfigFlags {
  /** Only the wrapper on this node. */
  readonly node?: string;
  readonly allNodes?: boolean;
  readonly adminPort: number;
  /** Nodes that are read at the same time. */
  readonly parallel: number;
  /** Time for a node to answer a question, in seconds. */
  readonly requestTimeout: number;
}

/** The wrappers of a cluster. */
export interface Wrappers {
  readonly client: KubeClient;
  /**
   * Calls `use` with the admin port of a wrapper. Resolves with the error if it rejects, and if the node is lost or
   * gone: its wrapper is not asked.
   */
  ask<T>(pod: WrapperPod, use: (admin: AdminClient) => Promise<T>): Promise<T | WrapperError>;
}

/** Calls `use` with the wrappers of the user's cluster, and then closes the connections. */
export async function withWrappers<T>(
  flags: WrapperFlags,
  use: (wrappers: Wrappers) => Promise<T>,
): Promise<T> {
  return await withKubeClient(userKubeconfig(flags), (client) =>
    use({
      client,
      ask: async (pod, read) =>
        pod.unasked === undefined
          ? await ask(openAdmin(client, pod, flags), read)
          : new WrapperError('Unreachable', UNASKED[pod.unasked]),
    }),
  );
}

/** The same for all nodes, so that they share a line. */
const UNASKED: Readonly<Record<NonNullable<WrapperPod['unasked']>, string>> = {
  lost: 'the kubelet of the node does not answer, so its wrapper was not asked; --node asks it all the same',
  gone: 'there is no such Node, so its wrapper was not asked; Kubernetes deletes its Pods soon',
};

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
function openAdmin(
  { credentials }: KubeClient,
  pod: WrapperPod,
  { adminPort, requestTimeout }: WrapperFlags,
): AdminClient {
  return createAdminClient(`http://127.0.0.1:${adminPort}`, {
    connect: (signal) => openPortForward(credentials, pod, adminPort, signal),
    advice: `it should run in Pod ${pod.namespace}/${pod.name} on node ${pod.node}; see its log, and --admin-port`,
    lateAdvice: 'see whether the node is up; --request-timeout gives it more time',
    timeoutMs: requestTimeout * 1000,
  });
}
