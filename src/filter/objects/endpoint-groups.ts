import type { Endpoint } from '../../topology/decide/endpoint.ts';
import type { Cursor } from '../codec/cursor.ts';
import {
  addressFamily,
  DOMAIN_NAMES,
  endpointState,
  portNumbers,
  ZONE_LABEL,
} from './api-conventions.ts';
import type { PortNumber } from './object-facts.ts';
import { readFields } from './read-message.ts';
import {
  type ADDRESS,
  CONDITIONS,
  ENDPOINT,
  type ENDPOINTS_MESSAGE,
  REFERENCE,
  readingEach,
  SLICE,
  SLICE_FACTS,
  TABLE,
  type ValuesOf,
} from './schema.ts';

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

/** An endpoint of a slice. Its family comes after it in protobuf. */
type SliceEndpoint = Omit<FullEndpoint, 'family'> & { family: string };

type Conditions = Record<keyof ValuesOf<typeof CONDITIONS>, boolean | undefined>;

const NO_REFERENCE = REFERENCE[TABLE].zero as ValuesOf<typeof REFERENCE>;

/** An EndpointSlice, and what a decision needs of it, with its endpoints as they are in a group. */
export const SLICE_GROUP = readingEach(SLICE, 'endpoints', readEndpoint);
export const SLICE_GROUP_FACTS = readingEach(SLICE_FACTS, 'endpoints', readEndpoint);

/** The endpoints of a slice: one group, but none of domain names. */
export function sliceGroups({
  addressType,
  ports,
  endpoints,
}: Pick<ValuesOf<typeof SLICE_GROUP>, 'addressType' | 'ports' | 'endpoints'>): FullGroup[] {
  if (addressType === DOMAIN_NAMES) return [];
  for (const endpoint of endpoints) endpoint.family = addressType;
  return [{ ports: portNumbers(ports), endpoints }];
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

/** With all fields as an object first, this took twice as long. A list has 100,000. */
function readEndpoint(endpoint: Cursor): SliceEndpoint {
  let addresses: string[] = [];
  let node = '';
  let zone = '';
  let hinted = false;
  let deprecatedTopology: Map<string, string> | undefined;
  let targetRef = NO_REFERENCE;
  const conditions: Conditions = { ready: undefined, serving: undefined, terminating: undefined };
  while (endpoint.next()) {
    switch (endpoint.field) {
      case ENDPOINT.addresses:
        // To push to an empty array reserves room for 17.
        if (addresses.length === 0) addresses = [endpoint.text()];
        else addresses.push(endpoint.text());
        break;
      case ENDPOINT.conditions:
        readConditions(endpoint.enter(), conditions);
        break;
      case ENDPOINT.targetRef:
        targetRef = readFields(endpoint.enter(), targetRef);
        break;
      case ENDPOINT.deprecatedTopology:
        deprecatedTopology ??= new Map();
        endpoint.readMap(deprecatedTopology);
        break;
      case ENDPOINT.nodeName:
        node = endpoint.text();
        break;
      case ENDPOINT.zone:
        zone = endpoint.text();
        break;
      case ENDPOINT.hints:
        hinted = true;
    }
  }
  const { ready, serving, terminating } = conditions;
  return {
    family: '',
    node,
    zone: zone === '' ? (deprecatedTopology?.get(ZONE_LABEL) ?? '') : zone,
    // kube-proxy ignores an endpoint without an address.
    state: addresses.length === 0 ? 'notReady' : endpointState(conditions),
    terminating: terminating === true,
    addresses,
    targetRef,
    hinted,
    publishedNotReady: ready !== false && serving === false,
  };
}

function readConditions(fields: Cursor, conditions: Conditions): void {
  while (fields.next()) {
    switch (fields.field) {
      case CONDITIONS.ready:
        conditions.ready = fields.bool();
        break;
      case CONDITIONS.serving:
        conditions.serving = fields.bool();
        break;
      case CONDITIONS.terminating:
        conditions.terminating = fields.bool();
    }
  }
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
