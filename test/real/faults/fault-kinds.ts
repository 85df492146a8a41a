import type { FaultKind, HistoryTarget, NodeTarget } from './fault-kind.ts';
import { clientFaults } from './kinds/client-faults.ts';
import { connectionFaults } from './kinds/connection-faults.ts';
import { contentFaults } from './kinds/content-faults.ts';
import { diskFaults } from './kinds/disk-faults.ts';
import { http2Faults } from './kinds/http2-faults.ts';
import { kubeProxyFaults } from './kinds/kube-proxy-faults.ts';
import { processFaults } from './kinds/process-faults.ts';
import { realServerFaults } from './kinds/real-server-faults.ts';
import { relayFaults } from './kinds/relay-faults.ts';
import { serverFaults } from './kinds/server-faults.ts';
import { statusFaults } from './kinds/status-faults.ts';
import { type OtherCertificates, tlsFaults } from './kinds/tls-faults.ts';
import { watchFaults } from './kinds/watch-faults.ts';

export interface FaultKinds {
  /** Between a wrapper and its API server, on any target. */
  readonly common: readonly FaultKind[];
  /** Those that need a history which knows what clients may show. */
  readonly history: readonly FaultKind<HistoryTarget>[];
  /** Those that need relays. */
  readonly relay: readonly FaultKind<HistoryTarget>[];
  /** Faults of a node and a real control plane: disk, clients, kube-proxies, etcd, kube-apiserver. */
  readonly node: readonly FaultKind<NodeTarget>[];
}

/** All kinds, room by room. */
export function faultKinds(certificates: OtherCertificates): FaultKinds {
  return {
    common: [
      ...connectionFaults,
      ...tlsFaults(certificates),
      ...http2Faults,
      ...statusFaults,
      ...contentFaults,
      ...watchFaults,
      ...processFaults,
    ],
    history: serverFaults,
    relay: relayFaults,
    node: [...clientFaults, ...diskFaults, ...kubeProxyFaults, ...realServerFaults],
  };
}
