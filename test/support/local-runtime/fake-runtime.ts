import type {
  ContainerRuntime,
  Sandbox,
  SandboxNetwork,
} from '../../../src/node/local-runtime/container-runtime.ts';

/** A sandbox of a Pod. */
export interface FakeSandbox {
  readonly id: string;
  /** Name of the Pod, in the namespace `default`. */
  readonly pod: string;
  readonly uid?: string;
  readonly attempt?: number;
  readonly createdAt?: bigint;
  readonly ready?: boolean;
  readonly isStatic?: boolean;
  readonly isHostNetwork?: boolean;
  readonly addresses?: readonly string[];
}

/** The state of a container runtime, and how it answers. Tests change the fields. */
export class FakeRuntime implements ContainerRuntime {
  sandboxList: readonly FakeSandbox[] = [];
  /** Each call fails with it. */
  error: Error | undefined;
  /** Number of lists of sandboxes. */
  lists = 0;
  /** Number of status calls. */
  statuses = 0;
  closed = false;
  /** Lists of sandboxes wait for it, after they have read the state. */
  gate: Promise<void> | undefined;

  async version(): Promise<string> {
    this.#answer();
    return 'fake 1.0';
  }

  async sandboxes(): Promise<readonly Sandbox[]> {
    this.lists++;
    this.#answer();
    const sandboxes = this.sandboxList.map(toSandbox);
    await this.gate;
    return sandboxes;
  }

  async network(id: string): Promise<SandboxNetwork | undefined> {
    this.statuses++;
    this.#answer();
    const found = this.sandboxList.find((each) => each.id === id);
    return found && networkOf(found);
  }

  close(): void {
    this.closed = true;
  }

  #answer(): void {
    if (this.error !== undefined) throw this.error;
  }
}

export function toSandbox(each: FakeSandbox): Sandbox {
  const { id, pod, uid = `uid-${pod}`, attempt = 0, createdAt = 0n } = each;
  const { ready = true, isStatic = false } = each;
  return { id, namespace: 'default', name: pod, uid, attempt, createdAt, ready, isStatic };
}

export function networkOf({ isHostNetwork = false, addresses = [] }: FakeSandbox): SandboxNetwork {
  return { isHostNetwork, addresses };
}
