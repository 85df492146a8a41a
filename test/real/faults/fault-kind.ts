import type { ControlPlane } from '../../../harness/api-server/control-plane.ts';
import type { History } from '../../../harness/history/history.ts';
import type { KernelKubeProxy } from '../../../harness/node/kube-proxies.ts';
import type { Random } from '../../../harness/random.ts';
import type { ActiveFault } from './active-fault.ts';
import type { FaultFront } from './fault-front.ts';
import type { FaultNode } from './node/fault-node.ts';
import type { MemoryBackend } from './recovery/memory-backend.ts';
import type { RelayUnderTest } from './recovery/relays.ts';
import type { WrapperUnderTest } from './wrapper-under-test.ts';

/** Where a fault happens; the report has one group of lines for each. */
export type Room =
  | 'connection'
  | 'TLS'
  | 'HTTP/2'
  | 'status'
  | 'content'
  | 'watch'
  | 'server'
  | 'relay'
  | 'process'
  | 'clients'
  | 'disk'
  | 'kube-proxy';

/** What a fault acts on. */
export interface FaultTarget {
  /** The only way from the wrapper to the API server. */
  readonly front: FaultFront;
  readonly wrapper: WrapperUnderTest;
  readonly random: Random;
  readonly history: History;
}

/** The same, with an API server in memory. */
export interface HistoryTarget extends FaultTarget {
  readonly memory: MemoryBackend;
  /** Between the wrapper and the front, in order of preference; the wrapper reaches the front itself too. */
  readonly relays: readonly RelayUnderTest[];
}

/** The same, with a node and its clients. */
export interface NodeTarget extends FaultTarget {
  readonly node: FaultNode;
  /** A real etcd and kube-apiserver. */
  readonly plane: ControlPlane;
  readonly kubeProxies: readonly KernelKubeProxy[];
}

/**
 * A way in which something fails, on the targets that it can act on. Another one is another row of a table in kinds/.
 */
export interface FaultKind<Target extends FaultTarget = FaultTarget> {
  readonly room: Room;
  readonly name: string;
  /** Which protocol it needs; default: any. */
  readonly needs?: 'http1' | 'http2';
  /** Bounds of its duration in seconds; default 0.1 to 120. */
  readonly seconds?: readonly [least: number, most: number];
  /**
   * No request gets through: /readyz must report it. `failing`: attempts fail; `silent`: nothing comes back. A kind
   * without it may be harmless for readiness.
   */
  readonly unreachable?: 'failing' | 'silent';
  /** Something else is left to read from: the view is right this long after a change, in milliseconds. */
  readonly bypassMs?: number | undefined;
  /** Memory that it may cost in addition, in MB. */
  readonly memoryMB?: number | undefined;
  /** Processes of the wrapper that it starts. */
  readonly starts?: number;
  /** A process that starts from the disk may show an older state, which the last process did not have time to write. */
  readonly mayGoBack?: boolean;
  strike(target: Target): Promise<ActiveFault> | ActiveFault;
}

export function nameOf({ room, name }: Pick<FaultKind, 'room' | 'name'>): string {
  return `${room}: ${name}`;
}
