import { describe, expect, test } from '@jest/globals';
import type { PartialObjectMetadata, ServiceFacts } from '../../../src/filter/codec/codec.ts';
import { NamespacesHandler } from '../../../src/node/own-watches/namespaces-handler.ts';
import { OwnNodeHandler } from '../../../src/node/own-watches/own-node-handler.ts';
import { PolicyLog } from '../../../src/node/own-watches/policy-log.ts';
import { ServicesHandler } from '../../../src/node/own-watches/services-handler.ts';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import { PolicyStates } from '../../../src/topology/state/policy-states.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { ManualClock } from '../../support/clocks.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { NO_POLICY, PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';

type Annotations = Readonly<Record<string, string>>;

/** Both handlers of one node, with what they report. */
function start(clock?: ManualClock) {
  const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own', namespaces: true });
  const policyResolver = new PolicyResolver(NO_POLICY);
  const { logger, lines } = recordingLogger();
  const policyLog = new PolicyLog(logger, clock);
  const options = { topology, policyResolver, policyLog };
  const services = new ServicesHandler(options);
  const namespaces = new NamespacesHandler(options);
  return {
    topology,
    lines,
    /** Names of the Services and Namespaces in the log. */
    logged: () => [
      ...lines.flatMap(({ namespace }) => namespace ?? []),
      ...lines.flatMap(({ service }) => service ?? []),
    ],
    service(name: string, annotations: Annotations = {}) {
      services.onChanges([change(`shop/${name}`, serviceFacts(name, annotations))]);
    },
    deleteService(name: string) {
      services.onChanges([{ type: 'DELETED', key: `shop/${name}` }]);
    },
    namespace(annotations: Annotations) {
      namespaces.onChanges([change('shop', facts('', 'shop', annotations))]);
    },
  };
}

function change<Facts>(key: string, each: Facts) {
  return { type: 'MODIFIED' as const, key, facts: each, object: Buffer.alloc(0) };
}

function facts(namespace: string, name: string, annotations: Annotations): PartialObjectMetadata {
  const meta = { namespace, name, uid: `u-${name}`, resourceVersion: '1' };
  return { ...meta, labels: new Map(), annotations: new Map(Object.entries(annotations)) };
}

function serviceFacts(name: string, annotations: Annotations): ServiceFacts {
  const spec = {
    ports: ['TCP/'],
    type: 'ClusterIP',
    clusterIP: '10.96.0.1',
    selector: false,
    ipFamilies: [],
  };
  const policies = {
    internalTrafficPolicy: '',
    externalTrafficPolicy: '',
    trafficDistribution: '',
  };
  return { ...facts('shop', name, annotations), ...spec, ...policies };
}

describe('the invalid annotation of a Namespace', () => {
  test.each<[string, boolean]>([
    ['the Namespace', true],
    ['its Services', false],
  ])('is one log line, when %s come first', (_, namespaceFirst) => {
    const { service, namespace, logged } = start();
    const steps = [
      () => namespace({ topologyKeys: '[oops' }),
      () => {
        for (const name of ['a', 'b', 'c']) service(name);
      },
    ];
    for (const step of namespaceFirst ? steps : steps.toReversed()) step();
    expect(logged()).toEqual(['shop']);
  });

  test('is logged again only when it has changed', () => {
    const { namespace, lines } = start();
    namespace({ topologyKeys: '[oops' });
    namespace({ topologyKeys: '[oops', other: 'annotation' });
    expect(lines).toHaveLength(1);
    namespace({ topologyKeys: '["site"]' });
    namespace({ topologyKeys: '["site"]', 'kube-proxy-wrapper.io/filter': 'dry_run' });
    expect(lines).toHaveLength(2);
    expect(JSON.stringify(lines[1])).toContain('dry_run');
  });

  test('is reported for Services that would inherit its other annotations', () => {
    const { service, namespace, logged } = start();
    namespace({ topologyKeys: '[oops', 'kube-proxy-wrapper.io/filter': 'off' });
    service('on', { 'kube-proxy-wrapper.io/filter': 'on' });
    expect(logged()).toEqual(['shop']);
  });
});

test.each<[string, Annotations, Annotations]>([
  ['topologyKeys', { topologyKeys: '[oops' }, { topologyKeys: '[oops' }],
  ['min-ready', { 'kube-proxy-wrapper.io/min-ready': '2' }, { topologyKeys: '["site"]' }],
  ['filter', { 'kube-proxy-wrapper.io/filter': 'of' }, { 'kube-proxy-wrapper.io/filter': 'of' }],
])(
  'an invalid %s of the Service itself is reported once, whatever its Namespace has',
  (_, own, ofNamespace) => {
    const { service, namespace, logged } = start();
    namespace(ofNamespace);
    service('web', own);
    service('web', { ...own, other: 'annotation' });
    expect(logged().filter((name) => name === 'shop/web')).toHaveLength(1);
  },
);

test('an error of a Service that takes effect through its Namespace is reported for the Service', () => {
  const { service, namespace, logged, lines } = start();
  service('web', { 'kube-proxy-wrapper.io/min-ready': '2' });
  expect(lines).toEqual([]);
  namespace({ topologyKeys: '["site"]' });
  expect(logged()).toEqual(['shop/web']);
});

describe('an annotation without effect', () => {
  const MISSPELT = { 'topology-keys': '["site"]' };

  test.each(['service', 'namespace'] as const)('of a %s is logged once', (kind) => {
    const { service, namespace, lines } = start();
    const set = (annotations: Annotations): void =>
      kind === 'service' ? service('web', annotations) : namespace(annotations);
    set(MISSPELT);
    set({ ...MISSPELT, other: 'annotation' });
    const problem = '"topology-keys" has no effect; did you mean topologyKeys?';
    expect(lines).toMatchObject([{ err: expect.stringContaining(problem) }]);
    set({});
    set(MISSPELT);
    expect(lines).toHaveLength(2);
  });
});

test('with its first list, a handler deletes what the one before it knew and the list does not contain', () => {
  const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own' });
  const { logger } = recordingLogger();
  const policyResolver = new PolicyResolver(NO_POLICY);
  const options = { topology, policyResolver, policyLog: new PolicyLog(logger) };
  const added = (name: string) => change(`shop/${name}`, serviceFacts(name, {}));
  new ServicesHandler(options).onChanges([added('a'), added('b')]);
  const next = new ServicesHandler(options);
  next.onChanges([added('b')]);
  next.onChanges([added('c')]);
  expect([...topology.policies.services()]).toEqual(['shop/b', 'shop/c']);
});

// Each line of the program has the field already; a second one made JSON with a key twice.
test('what is wrong with the own Node is logged without the field node', () => {
  const { logger, lines } = recordingLogger();
  const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own' });
  const handler = new OwnNodeHandler(topology, { update() {} }, logger);
  handler.onSynced();
  const node = change('own', facts('', 'own', { 'kube-proxy-wrapper.io/filter': 'no' }));
  handler.onChanges([node, { ...node, type: 'DELETED' }]);
  expect(lines.map((line) => 'node' in line)).toEqual([false, false, false]);
});

test('annotations that change without end are a few lines of each Namespace, and the last one shows the latest state', () => {
  const { logger, lines } = recordingLogger();
  const clock = new ManualClock();
  const log = new PolicyLog(logger, clock);
  const write = (service: string, message: string) => {
    const policy = { managed: false, reason: 'invalid-policy', message } as const;
    log.reportServices(new PolicyStates(), new Map([[service, policy]]));
  };
  for (let n = 0; n < 1_000; n++) write('noisy/web', `version ${n}`);
  write('quiet/web', 'misspelt');
  expect(lines).toHaveLength(6);
  expect(lines.at(-1)?.service).toBe('quiet/web');
  clock.pass(60_000);
  expect(lines).toHaveLength(7);
  expect(lines.at(-1)).toMatchObject({ service: 'noisy/web', err: 'version 999', omitted: 994 });
  write('noisy/web', 'the end');
  log.close();
  expect(lines.at(-1)?.err).toBe('the end');
});

// A line of 20:42:29 said that a policy was invalid that was corrected at 20:42:07, and a true one was left out for it.
test('a line that waited for room is true when it is written', () => {
  const clock = new ManualClock();
  const { service, deleteService, namespace, lines } = start(clock);
  const [wrong, right] = [{ topologyKeys: '[' }, { topologyKeys: '["site"]' }];
  for (let n = 0; n < 5; n++) service(`first-${n}`, wrong);
  service('remains', wrong);
  service('corrected', wrong);
  service('deleted', wrong);
  namespace(wrong);
  service('corrected', right);
  deleteService('deleted');
  namespace(right);
  expect(lines).toHaveLength(5);
  clock.pass(60_000);
  expect(lines.slice(5)).toMatchObject([{ service: 'shop/remains', omitted: 3 }]);
  clock.pass(60_000);
  service('late', wrong);
  service('corrected', wrong);
  service('corrected', right);
  clock.pass(60_000);
  service('last', wrong);
  expect(lines.slice(6)).toMatchObject([
    { service: 'shop/late' },
    { service: 'shop/last', omitted: 1 },
  ]);
});
