import type { Endpoint } from '../../topology/decide/endpoint.ts';
import {
  addressFamily,
  DOMAIN_NAMES,
  endpointState,
  portNumbers,
  ZONE_LABEL,
} from './api-conventions.ts';
import type { PortNumber } from './object-facts.ts';
import type { ADDRESS, ENDPOINT, ENDPOINTS_MESSAGE, SLICE, ValuesOf } from './schema.ts';

/** All that is read of an endpoint of a slice, or of an address of an Endpoints object. */
export interface FullEndpoint extends Endpoint {
  readonly addresses: readonly string[];
  readonly targetRef: ValuesOf<typeof ENDPOINT>['targetRef'];
  /** Whether it has hints. */
  readonly hinted: boolean;
  /** It is ready although it does not serve: its Service has `publishNotReadyAddresses`. */
  readonly publishedNotReady: boolean;
}

/** A group of {@link EndpointsFacts.groups}, with all that is read of it. Facts omit most of that to save memory. */
export interface FullGroup {
  readonly ports: readonly PortNumber[];
  readonly endpoints: readonly FullEndpoint[];
}

/** The endpoints of a slice: one group, but none of domain names. */
export function sliceGroups({
  addressType,
  ports,
  endpoints,
}: Pick<ValuesOf<typeof SLICE>, 'addressType' | 'ports' | 'endpoints'>): FullGroup[] {
  if (addressType === DOMAIN_NAMES) return [];
  const all = endpoints.map((endpoint) => sliceEndpoint(endpoint, addressType));
  return [{ ports: portNumbers(ports), endpoints: all }];
}

/** The endpoints of an Endpoints object: one group per subset, addresses before notReadyAddresses. */
export function subsetGroups({
  subsets,
}: Pick<ValuesOf<typeof ENDPOINTS_MESSAGE>, 'subsets'>): FullGroup[] {
  return subsets.map(({ addresses, notReadyAddresses, ports }) => {
    const ready = addresses.map((address) => subsetEndpoint(address, 'ready'));
    const others = notReadyAddresses.map((address) => subsetEndpoint(address, 'notReady'));
    return { ports: portNumbers(ports), endpoints: ready.concat(others) };
  });
}

/** The ports without a number, or with number 0, by their keys. kube-proxy ignores them. */
export function unnumberedPorts({ ports }: FullGroup): string[] {
  return ports.flatMap(({ key, number }) => (number === 0 ? key : []));
}

function sliceEndpoint(endpoint: ValuesOf<typeof ENDPOINT>, family: string): FullEndpoint {
  const { addresses, conditions, targetRef, nodeName, zone, deprecatedTopology, hints } = endpoint;
  return {
    family,
    node: nodeName,
    zone: zone === '' ? (deprecatedTopology.get(ZONE_LABEL) ?? '') : zone,
    // kube-proxy ignores an endpoint without an address.
    state: addresses.length === 0 ? 'notReady' : endpointState(conditions),
    terminating: conditions.terminating === true,
    addresses,
    targetRef,
    hinted: hints,
    publishedNotReady: conditions.ready !== false && conditions.serving === false,
  };
}

function subsetEndpoint(
  { ip, nodeName, targetRef }: ValuesOf<typeof ADDRESS>,
  state: Endpoint['state'],
): FullEndpoint {
  return {
    family: addressFamily(ip),
    node: nodeName,
    zone: '',
    state,
    terminating: false,
    addresses: [ip],
    targetRef,
    hinted: false,
    publishedNotReady: false,
  };
}
