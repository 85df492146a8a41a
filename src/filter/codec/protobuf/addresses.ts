import type { GroupAddresses, ObjectBytes, PortNumber, ServiceAddresses } from '../codec.ts';
import { ENDPOINTS, type Resource } from '../resource.ts';
import { SUBSET, SUBSETS } from './endpoints-facts.ts';
import { FieldCursor } from './field-cursor.ts';
import { readPort, SERVICE_PORT, SLICE_PORT, SUBSET_PORT } from './port.ts';
import { ENDPOINT, SLICE } from './slice-facts.ts';

/** Field number of a slice endpoint's `addresses`, and of a subset address's `ip`. */
const ADDRESS_TEXT = 1;
/** Fields of Service and ServiceSpec (k8s.io/api core/v1/generated.proto). */
const SPEC = 2;
const SERVICE_SPEC = { ports: 1, clusterIP: 3, clusterIPs: 18 } as const;

/** Reads addresses and port numbers; see `Codec.addresses`. */
export function readAddresses(resource: Resource, object: ObjectBytes): GroupAddresses[] {
  if (resource.kind !== ENDPOINTS.kind) return [readSlice(object)];
  const groups: GroupAddresses[] = [];
  const fields = FieldCursor.over(object);
  while (fields.next()) if (fields.field === SUBSETS) groups.push(readSubset(fields.enter()));
  return groups;
}

function readSlice(object: ObjectBytes): GroupAddresses {
  const ports: PortNumber[] = [];
  const endpoints: string[][] = [];
  const hinted: boolean[] = [];
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field === SLICE.endpoints) {
      endpoints.push(readTexts(fields.enter()));
      hinted.push(hasHints(fields.enter()));
    }
    if (fields.field === SLICE.ports) ports.push(readPort(fields.enter(), SLICE_PORT));
  }
  return { ports, endpoints, hinted };
}

function hasHints(endpoint: FieldCursor): boolean {
  while (endpoint.next()) if (endpoint.field === ENDPOINT.hints) return true;
  return false;
}

/** Ready addresses are first, as in the facts. */
function readSubset(subset: FieldCursor): GroupAddresses {
  const ports: PortNumber[] = [];
  const ready: string[][] = [];
  const notReady: string[][] = [];
  while (subset.next()) {
    if (subset.field === SUBSET.addresses) ready.push(readTexts(subset.enter()));
    if (subset.field === SUBSET.notReadyAddresses) notReady.push(readTexts(subset.enter()));
    if (subset.field === SUBSET.ports) ports.push(readPort(subset.enter(), SUBSET_PORT));
  }
  const endpoints = [...ready, ...notReady];
  return { ports, endpoints, hinted: endpoints.map(() => false) };
}

function readTexts(endpoint: FieldCursor): string[] {
  const texts: string[] = [];
  while (endpoint.next()) if (endpoint.field === ADDRESS_TEXT) texts.push(endpoint.text());
  return texts;
}

/** Reads the cluster IPs and ports of a Service; see `Codec.serviceAddresses`. */
export function readServiceAddresses(object: ObjectBytes): ServiceAddresses {
  const ports: PortNumber[] = [];
  let clusterIPs: string[] = [];
  let clusterIP = '';
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field !== SPEC) continue;
    const spec = fields.enter();
    while (spec.next()) {
      if (spec.field === SERVICE_SPEC.ports) ports.push(readPort(spec.enter(), SERVICE_PORT));
      if (spec.field === SERVICE_SPEC.clusterIP) clusterIP = spec.text();
      if (spec.field === SERVICE_SPEC.clusterIPs) clusterIPs = [...clusterIPs, spec.text()];
    }
  }
  return {
    clusterIPs: clusterIPs.length === 0 && clusterIP !== '' ? [clusterIP] : clusterIPs,
    ports,
  };
}
