import type { Endpoint, EndpointGroup, EndpointState } from '../../topology/endpoint.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec.ts';
import { addressFamily } from '../endpoint-facts.ts';
import { FieldCursor } from './field-cursor.ts';
import { emptyMeta, METADATA, readMetadata } from './metadata.ts';
import { readPort } from './slice-facts.ts';

/** Field of Endpoints (k8s.io/api core/v1/generated.proto). */
export const SUBSETS = 2;
/** Fields of EndpointSubset. */
export const SUBSET = { addresses: 1, notReadyAddresses: 2, ports: 3 } as const;
const ADDRESS = { ip: 1, nodeName: 4 } as const;
const PORT = { name: 1, protocol: 3 } as const;

/** Reads what a decision needs of a core Endpoints object. */
export function readEndpoints(object: ObjectBytes): EndpointsFacts {
  const meta = emptyMeta();
  const groups: EndpointGroup[] = [];
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field === METADATA) readMetadata(fields.enter(), meta);
    if (fields.field === SUBSETS) groups.push(readSubset(fields.enter()));
  }
  return { ...meta, service: meta.name, hinted: false, groups };
}

function readSubset(subset: FieldCursor): EndpointGroup {
  const ready: Endpoint[] = [];
  const notReady: Endpoint[] = [];
  const ports: string[] = [];
  while (subset.next()) {
    switch (subset.field) {
      case SUBSET.addresses:
        ready.push(readAddress(subset.enter(), 'ready'));
        break;
      case SUBSET.notReadyAddresses:
        notReady.push(readAddress(subset.enter(), 'notReady'));
        break;
      case SUBSET.ports:
        ports.push(readPort(subset.enter(), PORT));
        break;
    }
  }
  return { ports, endpoints: [...ready, ...notReady] };
}

function readAddress(address: FieldCursor, state: EndpointState): Endpoint {
  let ip = '';
  let node = '';
  while (address.next()) {
    if (address.field === ADDRESS.ip) ip = address.text();
    if (address.field === ADDRESS.nodeName) node = address.text();
  }
  return { family: addressFamily(ip), node, zone: '', state };
}
