import type { FaultKind } from './fault-kind.ts';
import { connectionFaults } from './kinds/connection-faults.ts';
import { contentFaults } from './kinds/content-faults.ts';
import { http2Faults } from './kinds/http2-faults.ts';
import { processFaults } from './kinds/process-faults.ts';
import { realServerFaults } from './kinds/real-server-faults.ts';
import { serverFaults } from './kinds/server-faults.ts';
import { statusFaults } from './kinds/status-faults.ts';
import { type OtherCertificates, tlsFaults } from './kinds/tls-faults.ts';
import { watchFaults } from './kinds/watch-faults.ts';

/** All kinds, room by room. */
export function allFaultKinds(certificates: OtherCertificates): readonly FaultKind[] {
  return [
    ...connectionFaults,
    ...tlsFaults(certificates),
    ...http2Faults,
    ...statusFaults,
    ...contentFaults,
    ...watchFaults,
    ...serverFaults,
    ...realServerFaults,
    ...processFaults,
  ];
}
