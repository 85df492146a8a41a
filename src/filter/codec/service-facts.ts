import type { PartialObjectMetadata, PortNumber, ServiceAddresses, ServiceFacts } from './codec.ts';
import type { Cursor } from './cursor.ts';
import { readPartialMetadata } from './metadata.ts';
import { readPort } from './port.ts';
import { PORT, SERVICE, SERVICE_SPEC } from './schema.ts';

/** The facts of a Service that are in its spec. */
type SpecDraft = {
  -readonly [K in Exclude<keyof ServiceFacts, keyof PartialObjectMetadata>]: ServiceFacts[K];
};

/** Reads the facts of a Service that a decision needs. */
export function readService(service: Cursor): ServiceFacts {
  const draft: SpecDraft = {
    type: '',
    clusterIP: '',
    internalTrafficPolicy: '',
    externalTrafficPolicy: '',
    trafficDistribution: '',
  };
  const metadata = readPartialMetadata(service, (field) => {
    if (field.field === SERVICE.spec) readSpec(field.enter(), draft);
  });
  return { ...metadata, ...draft };
}

function readSpec(spec: Cursor, draft: SpecDraft): void {
  while (spec.next()) {
    switch (spec.field) {
      case SERVICE_SPEC.clusterIP:
        draft.clusterIP = spec.text();
        break;
      case SERVICE_SPEC.type:
        draft.type = spec.text();
        break;
      case SERVICE_SPEC.externalTrafficPolicy:
        draft.externalTrafficPolicy = spec.text();
        break;
      case SERVICE_SPEC.internalTrafficPolicy:
        draft.internalTrafficPolicy = spec.text();
        break;
      case SERVICE_SPEC.trafficDistribution:
        draft.trafficDistribution = spec.text();
        break;
    }
  }
}

/** Reads the cluster IPs and ports of a Service; see `Codec.serviceAddresses`. */
export function readServiceAddresses(service: Cursor): ServiceAddresses {
  const ports: PortNumber[] = [];
  const clusterIPs: string[] = [];
  let clusterIP = '';
  while (service.next()) {
    if (service.field !== SERVICE.spec) continue;
    const spec = service.enter();
    while (spec.next()) {
      if (spec.field === SERVICE_SPEC.ports) ports.push(readPort(spec.enter(), PORT));
      if (spec.field === SERVICE_SPEC.clusterIP) clusterIP = spec.text();
      if (spec.field === SERVICE_SPEC.clusterIPs) clusterIPs.push(spec.text());
    }
  }
  if (clusterIPs.length === 0 && clusterIP !== '') clusterIPs.push(clusterIP);
  return { clusterIPs, ports };
}
