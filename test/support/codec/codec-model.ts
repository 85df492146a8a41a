import fc from 'fast-check';
import type {
  EndpointsFacts,
  GroupAddresses,
  PortNumber,
} from '../../../src/filter/codec/codec.ts';
import type { EndpointState } from '../../../src/topology/decide/endpoint.ts';

/*
 * Any EndpointSlice and Endpoints object in its JSON form, and what a codec must read from it. `encodeObject` makes
 * the bytes in both encodings without the code under test.
 */

const SERVICE_NAME = 'kubernetes.io/service-name';
const ZONE = 'topology.kubernetes.io/zone';
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** Texts that a careless scanner reads wrongly. */
const text = fc.oneof(
  fc.constantFrom('', 'a', 'edge-1', '"', '\\', '\\"},{', '\n', 'ü€😀', '{"endpoints":[', '\u0000'),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ minLength: 120, maxLength: 200 }),
);
const keys = fc.oneof(fc.constantFrom(SERVICE_NAME, TRIGGER_TIME, '__proto__x', 'é'), text);
/**
 * No keys that look like array indexes: JavaScript objects put them first, whatever their order. No backslashes, which
 * Kubernetes allows in no key: see parseObject.
 */
const dictionary = fc.dictionary(
  keys.filter((key) => !/^\d+$|\\/.test(key) && key !== '__proto__'),
  text,
  { maxKeys: 4, noNullPrototype: true },
);
/** A member that no released Kubernetes has. In protobuf it is not written. */
const future = optional(fc.constant({ '}': [null, -1.5e-7, 'x"]'], nested: [[{}], []] }));

export const modelMeta = fc.record({
  future,
  name: text,
  namespace: text,
  uid: text,
  resourceVersion: fc.nat().map((version) => String(version + 1)),
  generation: fc.nat(300),
  labels: dictionary,
  annotations: dictionary,
  finalizers: fc.array(text, { maxLength: 2 }),
  managedFields: optional(fc.constant([{ manager: 'kubectl' }])),
});

const ports = fc.array(
  fc.record({
    name: optional(text),
    protocol: optional(text),
    port: fc.oneof({ weight: 4, arbitrary: fc.nat(65_535) }, fc.constantFrom(0, undefined)),
    appProtocol: optional(text),
  }),
  { maxLength: 3 },
);

const conditions = fc.record({
  ready: optional(fc.boolean()),
  serving: optional(fc.boolean()),
  terminating: optional(fc.boolean()),
});

export const modelSlice = fc.record({
  metadata: modelMeta,
  addressType: fc.constantFrom('IPv4', 'IPv6', 'FQDN'),
  endpoints: fc.array(
    fc.record({
      hints: optional(fc.constant({ forZones: [{ name: 'z1' }] })),
      addresses: fc.array(text, { maxLength: 2 }),
      conditions: optional(conditions),
      future,
      hostname: optional(text),
      nodeName: optional(text),
      zone: optional(text),
      deprecatedTopology: optional(fc.record({ other: text, [ZONE]: text })),
    }),
    { maxLength: 6 },
  ),
  future,
  ports,
});

const addresses = fc.array(
  fc.record({
    ip: fc.constantFrom<string>('10.0.0.1', 'fd00::1', ''),
    future,
    hostname: optional(text),
    nodeName: optional(text),
  }),
  { maxLength: 4 },
);

export const modelEndpoints = fc.record({
  metadata: modelMeta,
  future,
  subsets: fc.array(fc.record({ notReadyAddresses: addresses, future, addresses, ports }), {
    maxLength: 6,
  }),
});

type ValueOf<A> = A extends fc.Arbitrary<infer Value> ? Value : never;
export type ModelMeta = ValueOf<typeof modelMeta>;
export type ModelSlice = ValueOf<typeof modelSlice>;
export type ModelEndpoints = ValueOf<typeof modelEndpoints>;

/** What a codec must read from an object with endpoints. */
export interface ExpectedFacts {
  readonly facts: EndpointsFacts;
  readonly addresses: readonly GroupAddresses[];
}

function metaOf({ namespace, name, uid, resourceVersion }: ModelMeta) {
  return { namespace, name, uid, resourceVersion };
}

function portsOf(all: ValueOf<typeof ports>): PortNumber[] {
  return all.map(({ name = '', protocol, port = 0 }) => {
    return { key: `${protocol || 'TCP'}/${name}`, number: port };
  });
}

/** kube-proxy ignores a port without a number, or with number 0. */
function usedKeys(all: readonly PortNumber[]): string[] {
  return all.flatMap(({ key, number }) => (number === 0 ? [] : [key]));
}

function stateOf({
  ready,
  serving,
  terminating,
}: Partial<ValueOf<typeof conditions>>): EndpointState {
  if (ready === undefined || ready) return 'ready';
  return serving !== false && terminating ? 'serving' : 'notReady';
}

export function ofSlice(slice: ModelSlice): ExpectedFacts {
  const { metadata, endpoints } = slice;
  const service = metadata.labels[SERVICE_NAME] ?? '';
  if (slice.addressType === 'FQDN') {
    return { facts: { ...metaOf(metadata), service, hinted: false, groups: [] }, addresses: [] };
  }
  const numbers = portsOf(slice.ports);
  const group = {
    ports: usedKeys(numbers),
    endpoints: endpoints.map((endpoint) => ({
      family: slice.addressType,
      node: endpoint.nodeName ?? '',
      zone: endpoint.zone || (endpoint.deprecatedTopology?.[ZONE] ?? ''),
      state: stateOf(endpoint.conditions ?? {}),
    })),
  };
  const hinted = endpoints.map(({ hints }) => hints !== undefined);
  return {
    facts: {
      ...metaOf(metadata),
      service,
      hinted: hinted.includes(true),
      groups: [group],
    },
    addresses: [{ ports: numbers, endpoints: endpoints.map((each) => each.addresses), hinted }],
  };
}

export function ofEndpoints({ metadata, subsets }: ModelEndpoints): ExpectedFacts {
  const groups = subsets.map((subset) => {
    const numbers = portsOf(subset.ports);
    const all = [...subset.addresses, ...subset.notReadyAddresses];
    const group = {
      ports: usedKeys(numbers),
      endpoints: all.map(({ ip, nodeName }, index) => ({
        family: ip.includes(':') ? 'IPv6' : 'IPv4',
        node: nodeName ?? '',
        zone: '',
        state: index < subset.addresses.length ? ('ready' as const) : ('notReady' as const),
      })),
    };
    const endpoints = all.map(({ ip }) => [ip]);
    return { group, addresses: { ports: numbers, endpoints, hinted: all.map(() => false) } };
  });
  return {
    facts: {
      ...metaOf(metadata),
      service: metadata.name,
      hinted: false,
      groups: groups.map(({ group }) => group),
    },
    addresses: groups.map((each) => each.addresses),
  };
}
