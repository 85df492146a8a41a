import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import { addressNumber } from './address-number.ts';
import type { EndpointCache } from './endpoint-cache.ts';
import type { FullGroup } from './endpoint-groups.ts';
import type { EndpointsFacts, ObjectMeta } from './object-facts.ts';

/**
 * What a decision needs of an EndpointSlice or Endpoints object. Facts are kept for each object, so nothing else of
 * what was read is in them. A port without a number, or with number 0, is left out: kube-proxy ignores it
 * (pkg/proxy/endpointslicecache.go).
 */
export function endpointsFacts(
  { namespace, name, uid, resourceVersion }: ObjectMeta,
  service: string,
  groups: readonly FullGroup[],
  cache: EndpointCache,
): EndpointsFacts {
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    service,
    hinted: groups.some(({ endpoints }) => endpoints.some(({ hinted }) => hinted)),
    groups: groups.map((group) => groupFacts(group, cache)),
  };
}

function groupFacts({ ports, endpoints }: FullGroup, cache: EndpointCache): EndpointGroup {
  const usable = ports.filter(({ number }) => number !== 0);
  return {
    ports: usable.map(({ key }) => key),
    numbers: usable.map(({ number }) => number),
    endpoints: endpoints.map((endpoint) => cache.intern(endpoint)),
    addresses: endpoints.map(({ addresses }) => addressNumber(addresses[0] ?? '')),
  };
}
