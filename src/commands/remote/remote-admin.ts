import { Agent, type AgentOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AdminClient, createAdminClient } from '../client/admin-client.ts';
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
  const agent = new ForwardingAgent(() => openPortForward(credentials, pod, port));
  const advice = `it should run in Pod ${pod.namespace}/${pod.name} on node ${pod.node}; see its log, and --admin-port`;
  return createAdminClient(`http://127.0.0.1:${port}`, { agent, advice });
}

/** Opens the connections of one client through the API server. Requests one after the other share a connection. */
class ForwardingAgent extends Agent {
  readonly #open: () => Promise<Duplex>;

  constructor(open: () => Promise<Duplex>) {
    const options: AgentOptions = { keepAlive: true, maxSockets: 1 };
    super(options);
    this.#open = open;
  }

  override createConnection(
    _options: unknown,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#open().then(
      (stream) => callback?.(null, stream),
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    );
  }
}
