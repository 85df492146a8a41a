import type { Endpoint, EndpointGroup } from '../../../topology/decide/endpoint.ts';
import {
  addressFamily,
  DOMAIN_NAMES,
  endpointState,
  portKey,
  SERVICE_NAME_LABEL,
  ZONE_LABEL,
} from './api-conventions.ts';
import type { EndpointCache } from './endpoint-cache.ts';
import type { EndpointsFacts, ObjectMeta } from './object-facts.ts';
import type { ENDPOINTS_FACTS, PORT, SLICE_FACTS, ValuesOf } from './schema.ts';

/** What a decision needs of an EndpointSlice. */
export function sliceFacts(
  { metadata, endpoints, ports, addressType }: ValuesOf<typeof SLICE_FACTS>,
  cache: EndpointCache,
): EndpointsFacts {
  const service = metadata.labels.get(SERVICE_NAME_LABEL) ?? '';
  if (addressType === DOMAIN_NAMES) return factsOf(metadata, service, false, []);
  const group = {
    ports: portKeys(ports),
    endpoints: endpoints.map(({ nodeName, zone, deprecatedTopology, conditions }) => {
      const itsZone = zone === '' ? (deprecatedTopology.get(ZONE_LABEL) ?? '') : zone;
      return cache.intern(addressType, nodeName, itsZone, endpointState(conditions));
    }),
  };
  const hinted = endpoints.some(({ hints }) => hints);
  return factsOf(metadata, service, hinted, [group]);
}

/** What a decision needs of an Endpoints object. */
export function endpointsFacts(
  { metadata, subsets }: ValuesOf<typeof ENDPOINTS_FACTS>,
  cache: EndpointCache,
): EndpointsFacts {
  const groups = subsets.map(({ addresses, notReadyAddresses, ports }) => {
    const endpoints: Endpoint[] = [];
    for (const { ip, nodeName } of addresses) {
      endpoints.push(cache.intern(addressFamily(ip), nodeName, '', 'ready'));
    }
    for (const { ip, nodeName } of notReadyAddresses) {
      endpoints.push(cache.intern(addressFamily(ip), nodeName, '', 'notReady'));
    }
    return { ports: portKeys(ports), endpoints };
  });
  return factsOf(metadata, metadata.name, false, groups);
}

/** Facts are kept for each object, so nothing else of what was read is in them. */
function factsOf(
  { namespace, name, uid, resourceVersion }: ObjectMeta,
  service: string,
  hinted: boolean,
  groups: readonly EndpointGroup[],
): EndpointsFacts {
  return { namespace, name, uid, resourceVersion, service, hinted, groups };
}

/** A port without a number, or with number 0, is left out: kube-proxy ignores it (pkg/proxy/endpointslicecache.go). */
function portKeys(ports: readonly ValuesOf<typeof PORT>[]): string[] {
  return ports.filter(({ port }) => port !== 0).map(portKey);
}
