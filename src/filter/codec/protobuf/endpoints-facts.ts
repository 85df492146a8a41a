import type { Endpoint, EndpointGroup, EndpointState } from '../../../topology/decide/endpoint.ts';
import { addressFamily } from '../api-conventions.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec.ts';
import { assertElementCount } from '../element-limit.ts';
import { EndpointCache } from '../endpoint-cache.ts';
import { FieldCursor } from './field-cursor.ts';
import { emptyMeta, METADATA, readMetadata } from './metadata.ts';
import { addPortKey, SUBSET_PORT } from './port.ts';

/** Field of Endpoints (k8s.io/api core/v1/generated.proto). */
export const SUBSETS = 2;
/** Fields of EndpointSubset. */
export const SUBSET = { addresses: 1, notReadyAddresses: 2, ports: 3 } as const;
/** Fields of EndpointAddress. */
export const ADDRESS = { ip: 1, targetRef: 2, nodeName: 4 } as const;

/** Creates a reader of the facts of an Endpoints object that a decision needs. It caches endpoints. */
export function createEndpointsReader(): (object: ObjectBytes) => EndpointsFacts {
  const cache = new EndpointCache();
  return (object) => readEndpoints(object, cache);
}

function readEndpoints(object: ObjectBytes, cache: EndpointCache): EndpointsFacts {
  const meta = emptyMeta();
  const groups: EndpointGroup[] = [];
  let elements = 0;
  const onElement = (): void => assertElementCount(++elements, meta);
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field === METADATA) readMetadata(fields.enter(), meta);
    if (fields.field !== SUBSETS) continue;
    onElement();
    groups.push(readSubset(fields.enter(), cache, onElement));
  }
  return { ...meta, service: meta.name, hinted: false, groups };
}

function readSubset(
  subset: FieldCursor,
  cache: EndpointCache,
  onElement: () => void,
): EndpointGroup {
  const ready: Endpoint[] = [];
  const notReady: Endpoint[] = [];
  const ports: string[] = [];
  while (subset.next()) {
    onElement();
    switch (subset.field) {
      case SUBSET.addresses:
        ready.push(readAddress(subset.enter(), 'ready', cache));
        break;
      case SUBSET.notReadyAddresses:
        notReady.push(readAddress(subset.enter(), 'notReady', cache));
        break;
      case SUBSET.ports:
        addPortKey(subset.enter(), SUBSET_PORT, ports);
        break;
    }
  }
  return { ports, endpoints: [...ready, ...notReady] };
}

function readAddress(address: FieldCursor, state: EndpointState, cache: EndpointCache): Endpoint {
  let ip = '';
  let node = '';
  while (address.next()) {
    if (address.field === ADDRESS.ip) ip = address.text();
    if (address.field === ADDRESS.nodeName) node = address.text();
  }
  return cache.intern(addressFamily(ip), node, '', state);
}
