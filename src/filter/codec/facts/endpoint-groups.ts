import { addressFamily, DOMAIN_NAMES } from './api-conventions.ts';
import type { ADDRESS, ENDPOINT, ENDPOINTS_MESSAGE, PORT, SLICE, ValuesOf } from './schema.ts';

/** All that is read of an endpoint of a slice, or of an address of an Endpoints object. */
export interface FullEndpoint
  extends Omit<ValuesOf<typeof ENDPOINT>, 'zone' | 'deprecatedTopology'> {
  /** The slice's addressType; in an Endpoints object, the family of the address. */
  readonly family: string;
}

/** A group of {@link EndpointsFacts.groups}, with all that is read of it. */
export interface FullGroup {
  readonly ports: readonly ValuesOf<typeof PORT>[];
  readonly endpoints: readonly FullEndpoint[];
}

/** The endpoints of a slice: one group, but none of domain names. */
export function sliceGroups({
  addressType,
  ports,
  endpoints,
}: ValuesOf<typeof SLICE>): FullGroup[] {
  if (addressType === DOMAIN_NAMES) return [];
  return [{ ports, endpoints: endpoints.map((each) => ({ ...each, family: addressType })) }];
}

/** The endpoints of an Endpoints object: one group per subset, addresses before notReadyAddresses. */
export function subsetGroups({ subsets }: ValuesOf<typeof ENDPOINTS_MESSAGE>): FullGroup[] {
  return subsets.map(({ addresses, notReadyAddresses, ports }) => {
    const ready = addresses.map((address) => endpointOf(address, true));
    return {
      ports,
      endpoints: ready.concat(notReadyAddresses.map((address) => endpointOf(address, false))),
    };
  });
}

function endpointOf(
  { ip, nodeName, targetRef }: ValuesOf<typeof ADDRESS>,
  ready: boolean,
): FullEndpoint {
  return {
    addresses: [ip],
    conditions: { ready, serving: undefined, terminating: undefined },
    targetRef,
    nodeName,
    hints: false,
    family: addressFamily(ip),
  };
}
