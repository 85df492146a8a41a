/** One attempt of the kubelet to run a Pod: its network, in which its containers run. */
export interface Sandbox {
  readonly id: string;
  readonly namespace: string;
  /** Name of the Pod. */
  readonly name: string;
  /** Uid of the Pod as the kubelet has it. A static Pod has another uid at the API server. */
  readonly uid: string;
  /** Counts the sandboxes of a Pod, from 0. */
  readonly attempt: number;
  /** Nanoseconds since the epoch. */
  readonly createdAt: bigint;
  readonly ready: boolean;
  /** The Pod comes from a file or a URL of the kubelet, not from the API server. */
  readonly isStatic: boolean;
}

/** The network of a sandbox. */
export interface SandboxNetwork {
  /** It uses the network of the node, and has no address of its own. */
  readonly isHostNetwork: boolean;
  /** Addresses of all families, the main one first. */
  readonly addresses: readonly string[];
}

/**
 * What the wrapper reads from the container runtime (CRI). Every call ends in a few seconds; it rejects if the runtime
 * does not answer.
 */
export interface ContainerRuntime {
  /** Name and version of the runtime. */
  version(): Promise<string>;
  sandboxes(): Promise<readonly Sandbox[]>;
  /** Undefined: the sandbox does not exist any more. */
  network(sandbox: string): Promise<SandboxNetwork | undefined>;
  /** Closes the connection. The next call opens another one. */
  close(): void;
}
