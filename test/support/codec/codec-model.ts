import fc from 'fast-check';
import type { EndpointsFacts, PortNumber } from '../../../src/filter/codec/codec.ts';
import { addressNumber } from '../../../src/filter/objects/address-number.ts';
import type { FullEndpoint } from '../../../src/filter/objects/endpoint-groups.ts';
import type { Endpoint, EndpointState } from '../../../src/topology/decide/endpoint.ts';

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
interface Expected {
  readonly facts: EndpointsFacts;
  readonly groups: readonly ExpectedGroup[];
}

interface ExpectedGroup {
  readonly ports: readonly PortNumber[];
  readonly endpoints: readonly (Endpoint & Pick<FullEndpoint, 'addresses' | 'hinted'>)[];
}

function metaOf({ namespace, name, uid, resourceVersion }: ModelMeta) {
  return { namespace, name, uid, resourceVersion };
}

function portsOf(all: ValueOf<typeof ports>): PortNumber[] {
  return all.map(({ name = '', protocol, port = 0 }) => {
    return { key: `${protocol || 'TCP'}/${name}`, number: port };
  });
}

function stateOf({
  ready,
  serving,
  terminating,
}: Partial<ValueOf<typeof conditions>>): EndpointState {
  if (ready === undefined || ready) return 'ready';
  return serving !== false && terminating ? 'serving' : 'notReady';
}

function expected(meta: ModelMeta, service: string, groups: readonly ExpectedGroup[]): Expected {
  const all = groups.flatMap(({ endpoints }) => endpoints);
  const facts = groups.map(({ ports, endpoints }) => ({
    // kube-proxy ignores a port without a number, or with number 0.
    ports: ports.filter(({ number }) => number !== 0).map(({ key }) => key),
    numbers: ports.filter(({ number }) => number !== 0).map(({ number }) => number),
    endpoints: endpoints.map(({ addresses: _, hinted: _hinted, ...endpoint }) => endpoint),
    addresses: endpoints.map(({ addresses: [first = ''] }) => addressNumber(first)),
  }));
  const hinted = all.some((endpoint) => endpoint.hinted);
  return { facts: { ...metaOf(meta), service, hinted, groups: facts }, groups };
}

export function ofSlice({ metadata, endpoints, addressType: family, ports }: ModelSlice): Expected {
  const service = metadata.labels[SERVICE_NAME] ?? '';
  if (family === 'FQDN') return expected(metadata, service, []);
  const all = endpoints.map((endpoint) => ({
    family,
    node: endpoint.nodeName ?? '',
    zone: endpoint.zone || (endpoint.deprecatedTopology?.[ZONE] ?? ''),
    // kube-proxy ignores an endpoint without an address.
    state: endpoint.addresses.length === 0 ? 'notReady' : stateOf(endpoint.conditions ?? {}),
    terminating: endpoint.conditions?.terminating === true,
    addresses: endpoint.addresses,
    hinted: endpoint.hints !== undefined,
  }));
  return expected(metadata, service, [{ ports: portsOf(ports), endpoints: all }]);
}

export function ofEndpoints({ metadata, subsets }: ModelEndpoints): Expected {
  const groups = subsets.map(({ addresses, notReadyAddresses, ports }) => ({
    ports: portsOf(ports),
    endpoints: [...addresses, ...notReadyAddresses].map(({ ip, nodeName }, index) => ({
      family: ip.includes(':') ? 'IPv6' : 'IPv4',
      node: nodeName ?? '',
      zone: '',
      state: index < addresses.length ? ('ready' as const) : ('notReady' as const),
      terminating: false,
      addresses: [ip],
      hinted: false,
    })),
  }));
  return expected(metadata, metadata.name, groups);
}
