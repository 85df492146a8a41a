import fc from 'fast-check';
import type { EndpointsFacts } from '../../../src/filter/codec/codec.ts';
import type { Endpoint, EndpointState } from '../../../src/topology/decide/endpoint.ts';

/** A model of an object. Tests make from it the bytes in both encodings and the expected facts. */
export interface ModelMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Empty: not written. */
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly managed: boolean;
  /** Whether to add fields that no released Kubernetes has. */
  readonly unknown: boolean;
}

export interface ModelPort {
  readonly name: string | undefined;
  readonly protocol: string | undefined;
  readonly port: number | undefined;
}

export interface ModelEndpoint {
  readonly address: string;
  readonly node: string | undefined;
  readonly zone: string | undefined;
  readonly deprecatedZone: string | undefined;
  readonly ready: boolean | undefined;
  readonly serving: boolean | undefined;
  readonly terminating: boolean | undefined;
  readonly hinted: boolean;
  readonly unknown: boolean;
}

export interface ModelSlice {
  readonly meta: ModelMeta | undefined;
  readonly addressType: string;
  readonly ports: readonly ModelPort[];
  readonly endpoints: readonly ModelEndpoint[];
  readonly unknown: boolean;
}

export interface ModelAddress {
  readonly ip: string;
  readonly node: string | undefined;
  readonly unknown: boolean;
}

export interface ModelSubset {
  readonly ready: readonly ModelAddress[];
  readonly notReady: readonly ModelAddress[];
  readonly ports: readonly ModelPort[];
  readonly unknown: boolean;
}

export interface ModelEndpoints {
  readonly meta: ModelMeta | undefined;
  readonly subsets: readonly ModelSubset[];
  readonly unknown: boolean;
}

export const SERVICE_NAME = 'kubernetes.io/service-name';
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

/** Texts that a careless scanner reads wrongly. */
const text = fc.oneof(
  fc.constantFrom('', 'a', 'edge-1', '"', '\\', '\\"},{', '\n', 'ü€😀', '{"endpoints":[', '\u0000'),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ minLength: 120, maxLength: 200 }),
);
const optionalText = fc.option(text, { nil: undefined });
const optionalBool = fc.option(fc.boolean(), { nil: undefined });
const keys = fc.oneof(fc.constantFrom(SERVICE_NAME, TRIGGER_TIME, '__proto__x', 'é'), text);
/** No keys that look like array indexes: JavaScript objects put them first, whatever their order. */
const dictionary = fc.dictionary(
  keys.filter((key) => !/^\d+$/.test(key) && key !== '__proto__'),
  text,
  { maxKeys: 4, noNullPrototype: true },
);

const modelMeta: fc.Arbitrary<ModelMeta> = fc.record({
  name: text,
  namespace: text,
  uid: text,
  resourceVersion: fc.oneof(
    fc.nat().map((version) => String(version + 1)),
    fc.constant(''),
  ),
  generation: fc.nat(300),
  labels: dictionary,
  annotations: dictionary,
  managed: fc.boolean(),
  unknown: fc.boolean(),
});

const modelPort: fc.Arbitrary<ModelPort> = fc.record({
  name: optionalText,
  protocol: optionalText,
  port: fc.oneof({ weight: 4, arbitrary: fc.nat(65_535) }, fc.constantFrom(0, undefined)),
});
const modelPorts = fc.array(modelPort, { maxLength: 3 });

export const modelSlice: fc.Arbitrary<ModelSlice> = fc.record({
  meta: fc.option(modelMeta, { nil: undefined, freq: 10 }),
  addressType: fc.constantFrom('IPv4', 'IPv6', 'FQDN'),
  ports: modelPorts,
  endpoints: fc.array(
    fc.record({
      address: text,
      node: optionalText,
      zone: optionalText,
      deprecatedZone: optionalText,
      ready: optionalBool,
      serving: optionalBool,
      terminating: optionalBool,
      hinted: fc.boolean(),
      unknown: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
  unknown: fc.boolean(),
});

const modelAddresses = fc.array(
  fc.record({
    ip: fc.constantFrom('10.0.0.1', 'fd00::1', ''),
    node: optionalText,
    unknown: fc.boolean(),
  }),
  { maxLength: 4 },
);

export const modelEndpoints: fc.Arbitrary<ModelEndpoints> = fc.record({
  meta: fc.option(modelMeta, { nil: undefined, freq: 10 }),
  subsets: fc.array(
    fc.record({
      ready: modelAddresses,
      notReady: modelAddresses,
      ports: modelPorts,
      unknown: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
  unknown: fc.boolean(),
});

function metaFacts(meta: ModelMeta | undefined) {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = meta ?? {};
  return { namespace, name, uid, resourceVersion };
}

/** kube-proxy ignores a port without a number, or with number 0. */
function portFacts(ports: readonly ModelPort[]): string[] {
  const used = ports.filter(({ port }) => port !== undefined && port !== 0);
  return used.map(({ name, protocol }) => `${protocol || 'TCP'}/${name ?? ''}`);
}

function stateOf({ ready, serving, terminating }: ModelEndpoint): EndpointState {
  if (ready === undefined || ready) return 'ready';
  return serving !== false && terminating ? 'serving' : 'notReady';
}

/** The facts that a codec must read from a slice. */
export function sliceFacts(slice: ModelSlice): EndpointsFacts {
  const { meta, addressType: family, ports, endpoints } = slice;
  return {
    ...metaFacts(meta),
    service: meta?.labels[SERVICE_NAME] ?? '',
    hinted: endpoints.some(({ hinted }) => hinted),
    groups: [
      {
        ports: portFacts(ports),
        endpoints: endpoints.map((endpoint) => ({
          family,
          node: endpoint.node ?? '',
          zone: endpoint.zone || (endpoint.deprecatedZone ?? ''),
          state: stateOf(endpoint),
        })),
      },
    ],
  };
}

/** The facts that a codec must read from an Endpoints object. */
export function endpointsFacts({ meta, subsets }: ModelEndpoints): EndpointsFacts {
  const address =
    (state: EndpointState) =>
    ({ ip, node }: ModelAddress): Endpoint => ({
      family: ip.includes(':') ? 'IPv6' : 'IPv4',
      node: node ?? '',
      zone: '',
      state,
    });
  return {
    ...metaFacts(meta),
    service: meta?.name ?? '',
    hinted: false,
    groups: subsets.map(({ ready, notReady, ports }) => ({
      ports: portFacts(ports),
      endpoints: [...ready.map(address('ready')), ...notReady.map(address('notReady'))],
    })),
  };
}

/** A mask for up to 48 endpoints, more than any model has. */
export const masks = fc.uint8Array({ min: 0, max: 1, minLength: 48, maxLength: 48 });

/** The same object with another version; adds metadata if it has none. */
export function withVersion<T extends { readonly meta: ModelMeta | undefined }>(
  object: T,
  resourceVersion: string,
): T {
  return object.meta === undefined
    ? object
    : { ...object, meta: { ...object.meta, resourceVersion } };
}
