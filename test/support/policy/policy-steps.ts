import fc from 'fast-check';
import {
  CLOUD,
  COMMUNITY,
  HOST,
  type ModelCluster,
  type ModelEndpoint,
  type ModelService,
  type ModelSettings,
  type ModelSlice,
  OWN,
  ZONE,
} from '../../../harness/history/expected-view.ts';

export const SERVICE_KEYS = ['default/web', 'default/kubernetes', 'shop/web'] as const;
/** The keys of Services to which a slice can belong, each by its namespace; the last one is none. */
const OWNERS_IN = {
  default: ['default/web', 'default/kubernetes', 'default/'],
  shop: ['shop/web', 'shop/'],
} as const;
export const OWNERS = Object.values(OWNERS_IN).flat();
const NODES = [OWN, 'near', 'far', 'away'] as const;

/** Labels of nodes, with their possible values; empty: no such label. */
const LABELS: Readonly<Record<string, readonly string[]>> = {
  site: ['a', 'b', ''],
  [ZONE]: ['z1', 'z2', ''],
  role: ['edge', 'far', ''],
  lab: ['yes', ''],
  pool: ['red', 'blue', 'green', ''],
  group: ['red', 'blue', ''],
  'c.x/red': ['true', 'false', ''],
  blue: ['unit', 'other', ''],
  'apps.openyurt.io/nodepool': ['p', 'q', ''],
  'apps.kubeedge.io/belonging-to': ['p', 'q', ''],
};

/**
 * One change. Node sets that it makes necessary are answered by `answer` and `sync`; those that were refused before are
 * granted by these. Node sets that no policy needs any more are closed by `minute`.
 */
export type Step =
  | { kind: 'label'; node: string; key: string; value: string }
  | { kind: 'off'; off: boolean }
  | { kind: 'node'; node: string; labels: Record<string, string> | undefined }
  | { kind: 'answer'; which: number }
  | { kind: 'refuse'; which: number }
  | { kind: 'sync' }
  | { kind: 'minute' }
  | { kind: 'slices'; changes: { key: string; slice: ModelSlice | undefined }[] }
  | { kind: 'services'; changes: { key: string; service: ModelService | undefined }[] }
  | { kind: 'namespace'; namespace: string; keys: string | undefined }
  | { kind: 'communities'; changes: { name: string; members: string[] | undefined }[] };

const anyLabel = fc
  .constantFrom(...Object.keys(LABELS), ZONE, ZONE)
  .chain((key) =>
    fc.record({ key: fc.constant(key), value: fc.constantFrom(...(LABELS[key] ?? [])) }),
  );
const anyLabels = fc
  .array(anyLabel, { maxLength: 8 })
  .map((labels) =>
    Object.fromEntries(labels.filter(({ value }) => value !== '').map((l) => [l.key, l.value])),
  );

const anyKeys = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(HOST, ZONE, COMMUNITY, CLOUD, 'site', 'pool'), {
      maxLength: 4,
    }),
    fc.boolean(),
  )
  .map(([keys, any]) => (any ? [...keys, '*'] : keys));
const presets = [
  'fab-proxy',
  'fab-proxy-community',
  'prefer-same-node',
  'prefer-same-zone',
  'same-zone-only',
] as const;
const preset = fc.constantFrom(...presets);
const written = fc.oneof(
  { weight: 3, arbitrary: anyKeys.map((keys) => JSON.stringify(keys)) },
  { weight: 3, arbitrary: preset },
  { weight: 1, arbitrary: fc.constant('nonsense') },
);
const counts = fc.dictionary(fc.constantFrom(HOST, ZONE, COMMUNITY, 'site', '*'), fc.nat(2), {
  maxKeys: 3,
});
const minReady = counts.map((given) =>
  Object.fromEntries(Object.entries(given).map(([key, count]) => [key, count + 1])),
);

export const anySettings: fc.Arbitrary<ModelSettings> = fc.record({
  defaults: fc.oneof(fc.constant([]), anyKeys, preset, fc.constant('fab-proxy-community')),
  namespaces: fc.boolean(),
  compatibility: fc.boolean(),
  headless: fc.boolean(),
  hides: fc.constantFrom(undefined, 'labelled', 'unlabelled'),
  passthrough: fc.boolean(),
  edge: fc.constantFrom('role', 'role in (edge,far)', 'role,lab!=yes'),
  sources: fc.constant({
    nodeLabels: ['pool', 'group'],
    labelPrefix: 'c.x/',
    labelValues: ['unit'],
  }),
  minReady,
});

const anyEndpoint: fc.Arbitrary<ModelEndpoint> = fc
  .record({
    address: fc.integer({ min: 1, max: 6 }),
    node: fc.constantFrom(...NODES, 'of-another-cluster', ''),
    zone: fc.constantFrom('z1', 'z2', 'z2', ''),
    state: fc.constantFrom('ready', 'ready', 'ready', 'serving', 'gone'),
    ends: fc.nat(4),
  })
  .map(({ ends, ...endpoint }) => (ends === 0 ? { ...endpoint, terminating: true } : endpoint));

/** A history assigns increasing versions. */
const anySlice = fc.record({
  name: fc.constantFrom(...SERVICE_KEYS),
  /** Most slices belong to the Service of their name. */
  moved: fc.integer({ min: 0, max: 9 }),
  index: fc.nat(2),
  gone: fc.integer({ min: 0, max: 5 }).map((chance) => chance === 0),
  ports: fc.constantFrom<string[]>(
    ['TCP/a'],
    ['TCP/a'],
    ['TCP/b'],
    ['TCP/a', 'TCP/b'],
    ['TCP/b', 'TCP/c'],
    [],
  ),
  number: fc.constantFrom(undefined, undefined, 8080),
  endpoints: fc.array(anyEndpoint, { maxLength: 4 }),
});
const anySliceChange = anySlice.map(({ name, moved, index, gone, ports, number, endpoints }) => {
  const owners = name === 'shop/web' ? OWNERS_IN.shop : OWNERS_IN.default;
  const service = owners[moved] ?? name;
  const family = index === 2 ? ('IPv6' as const) : ('IPv4' as const);
  const slice = gone ? undefined : { service, family, ports, number, endpoints, version: 0 };
  return { key: `${name}-${index}`, slice };
});

const annotation = fc.oneof(
  { weight: 6, arbitrary: written.map((keys) => ({ topologyKeys: keys })) },
  fc.constantFrom<Record<string, string>>(
    {},
    {},
    { 'kube-proxy-wrapper.io/filter': 'off' },
    { 'kube-proxy-wrapper.io/filter': 'dry-run', topologyKeys: '["site"]' },
    { 'kube-proxy-wrapper.io/filter': 'dry-run', topologyKeys: `["${CLOUD}"]` },
    { 'kube-proxy-wrapper.io/topology-keys': '["site"]', topologyKeys: '["pool"]' },
    { 'openyurt.io/topologyKeys': HOST },
    { 'openyurt.io/topologyKeys': 'openyurt.io/nodepool' },
    { 'apps.kubeedge.io/service-topology': 'range-nodegroup' },
  ),
);
const anyService = fc
  .record({
    annotation,
    needs: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 2, arbitrary: minReady.map((each) => JSON.stringify(each)) },
      { weight: 1, arbitrary: fc.constant('nonsense') },
    ),
    mesh: fc.integer({ min: 0, max: 2 }),
    local: fc.integer({ min: 0, max: 9 }),
    hints: fc.integer({ min: 0, max: 4 }),
    headless: fc.integer({ min: 0, max: 9 }),
    ports: fc.constantFrom<string[]>(['TCP/a'], ['TCP/a', 'TCP/b'], ['TCP/b', 'TCP/a'], ['TCP/c']),
    families: fc.constantFrom(undefined, undefined, ['IPv4'], ['IPv6', 'IPv4']),
  })
  .map(
    ({
      annotation: given,
      needs,
      mesh,
      local,
      hints,
      headless,
      ports,
      families,
    }): ModelService => ({
      annotations: {
        ...given,
        ...(needs === undefined ? {} : { 'kube-proxy-wrapper.io/min-ready': needs }),
      },
      labels: mesh === 0 ? { mesh: 'edge' } : {},
      local: ([undefined, 'internal', 'external', 'external'] as const)[local],
      hints: hints === 0,
      headless: headless === 0,
      ports,
      ...(families === undefined ? {} : { families }),
      version: 0,
    }),
  );
const anyServiceChange = fc.record({
  key: fc.constantFrom(...SERVICE_KEYS),
  service: fc.option(anyService, { nil: undefined, freq: 6 }),
});
const anyCommunity = fc.record({
  name: fc.constantFrom('red', 'blue', 'a name for no label'),
  members: fc.option(fc.subarray([...NODES]), { nil: undefined, freq: 4 }),
});

const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { minLength: 1, maxLength: 3 });
const kind = <K extends string>(name: K) => fc.constant(name);

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(OWN, OWN, ...NODES), anyLabel)
      .map(([node, label]): Step => ({ kind: 'label', node, ...label })),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('off'), off: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: kind('node'),
      node: fc.constantFrom('near', 'far', 'away'),
      labels: fc.option(anyLabels, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind('answer'), which: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('refuse'), which: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('sync') }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('minute') }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('slices'), changes: some(anySliceChange) }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('services'), changes: some(anyServiceChange) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kind('namespace'),
      namespace: fc.constantFrom('default', 'shop'),
      keys: fc.option(written, { nil: undefined, freq: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind('communities'), changes: some(anyCommunity) }) },
);

export const anyCluster: fc.Arbitrary<ModelCluster> = fc
  .record({
    nodes: fc.tuple(...NODES.map((name) => fc.tuple(fc.constant(name), anyLabels))),
    services: fc.tuple(...SERVICE_KEYS.map((key) => fc.tuple(fc.constant(key), anyService))),
    slices: fc.array(anySliceChange, { maxLength: 6 }),
  })
  .map(({ nodes, services, slices }) => ({
    nodes: new Map(nodes),
    off: false,
    communities: new Map(),
    namespaces: new Map(),
    services: new Map(services),
    slices: new Map(
      slices.flatMap(({ key, slice }) => (slice === undefined ? [] : [[key, slice] as const])),
    ),
  }));
