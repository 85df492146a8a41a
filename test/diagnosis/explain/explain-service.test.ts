import { describe, expect, test } from '@jest/globals';
import {
  type ExplainedObject,
  explainService,
} from '../../../src/diagnosis/explain/explain-service.ts';
import type {
  PolicyOrigin,
  ServiceExplanation,
} from '../../../src/diagnosis/explain/explanation.ts';
import {
  type Endpoint,
  type EndpointGroup,
  type EndpointState,
  portId,
} from '../../../src/topology/decide/endpoint.ts';
import type { ManagedPolicy, Policy } from '../../../src/topology/policy/policy.ts';
import { decideService } from '../../../src/topology/state/decide-service.ts';
import type { TopologyOptions } from '../../../src/topology/state/topology.ts';
import { groupOf } from '../../support/topology/endpoint-group.ts';
import { managed, TopologyHarness } from '../../support/topology/topology-harness.ts';

const SERVICE = 'shop/web';
const HOST = 'kubernetes.io/hostname';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const COMMUNITY = 'kube-proxy-wrapper.io/community';
const ZONE = 'topology.kubernetes.io/zone';
const EDGE = { 'node-role.kubernetes.io/edge': '' };

function on(node: string, state: EndpointState = 'ready', family = 'IPv4'): Endpoint {
  return { family, node, zone: '', state, terminating: state === 'serving' };
}

const HERE = on('edge-1');
const NEAR = on('near');
const FAR = on('far');

function byDefault(...keys: string[]): Policy {
  return { managed: true, keys, source: 'default' };
}

/** A policy with one property more. */
function policyWith(more: Partial<ManagedPolicy>, ...keys: string[]): Policy {
  return { ...managed(...keys), ...more };
}

/** A Service with one slice, seen from `edge-1`. */
interface Scene {
  readonly policy: Policy;
  readonly endpoints?: readonly Endpoint[];
  /** In place of the endpoints: groups with ports of their own. */
  readonly groups?: readonly EndpointGroup[];
  /** Ports of the Service; default: the ports of its slices. */
  readonly ports?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Members of node sets; a set that is not listed here does not sync. */
  readonly sets?: Readonly<Record<string, readonly string[]>>;
  readonly refused?: string;
  readonly options?: Partial<TopologyOptions>;
  /** What happens then. */
  readonly change?: (harness: TopologyHarness) => void;
  readonly origins?: readonly PolicyOrigin[];
  readonly hinted?: boolean;
  /** Default: one. */
  readonly objects?: readonly ExplainedObject[];
  readonly hasSelector?: boolean;
  readonly isUnlabelled?: boolean;
  readonly unnumbered?: readonly string[];
  readonly sourceCluster?: string;
}

function explain(scene: Scene): ServiceExplanation {
  const { endpoints = [], labels = { site: 'a' }, sets = {}, hinted = false } = scene;
  const { groups = [groupOf(['TCP/http'], endpoints)] } = scene;
  const harness = new TopologyHarness(scene.options);
  const { topology } = harness;
  harness.settle(labels, { [SERVICE]: scene.policy });
  const ports = scene.ports?.map((port) => portId({ family: 'IPv4', port }));
  topology.setPolicies(new Map(), new Map([[SERVICE, ports]]));
  for (const [selector, members] of Object.entries(sets)) harness.sync(selector, ...members);
  if (scene.refused !== undefined) topology.nodeSets.get(scene.refused)?.refuse('403 Forbidden');
  scene.change?.(harness);
  const addresses = () => endpoints.map((_, index) => `10.0.0.${index + 1}`);
  return explainService({
    topology,
    outcome: decideService(topology, SERVICE, groups).outcome,
    objects: scene.objects ?? [
      {
        name: 'web-1',
        hinted,
        groups,
        addresses,
        isShown: () => false,
        unnumbered: () => scene.unnumbered ?? [],
        sourceCluster: () => scene.sourceCluster,
      },
    ],
    origins: scene.origins ?? [],
    hasSelector: scene.hasSelector ?? false,
    isUnlabelled: scene.isUnlabelled ?? false,
    since: undefined,
    limits: { endpoints: 1_000, ports: 200 },
  });
}

const SITE = { 'site=a': ['edge-1', 'near'] };

describe('explainService()', () => {
  test('counts what each key matches, names the winner, and what would win without it', () => {
    const { ports, counts, outcome } = explain({
      policy: managed(HOST, 'site', '*'),
      endpoints: [NEAR, on('near', 'serving'), FAR],
      sets: SITE,
    });
    expect(outcome).toMatchObject({ kind: 'filtered', dryRun: false });
    expect(counts).toEqual({ total: 3, kept: 2, ready: 1, leftOut: 1 });
    expect(ports).toEqual([
      {
        family: 'IPv4',
        port: 'TCP/http',
        keys: [
          { key: HOST, ready: 0, serving: 0, total: 0, needs: 1 },
          { key: 'site', ready: 1, serving: 1, total: 2, needs: 1 },
          { key: '*', ready: 2, serving: 1, total: 3, needs: 1 },
        ],
        winner: 'site',
        why: 'no nearer key has a ready endpoint, 1 ready here',
        next: '*',
      },
    ]);
    const same = explain({ policy: managed('site', '*'), endpoints: [NEAR], sets: SITE });
    expect(same.ports[0]?.next).toBeUndefined();
  });

  test('counts one of several endpoints with one address and port, and says so of the others', () => {
    const { counts, endpoints, omitted, ports } = explain({
      policy: managed('site', '*'),
      endpoints: [NEAR, NEAR],
      groups: [groupOf(['TCP/http'], [NEAR, NEAR], [1, 1])],
      sets: SITE,
    });
    expect([counts, omitted]).toEqual([{ total: 1, kept: 1, ready: 1, leftOut: 0 }, 0]);
    expect(ports[0]?.keys[0]).toMatchObject({ ready: 1, total: 1 });
    expect(endpoints.map(({ kept, reason }) => `${kept} ${reason}`)).toEqual([
      'true site matches, and has ready endpoints',
      'false another endpoint with this address and port counts in its place',
    ]);
  });

  // A Service with 0 of 4 endpoints was once headed "the first of rack that counts wins".
  test.each([
    ['no endpoint matches', [FAR], 'no endpoint matches site, so'],
    ['there are no endpoints', [], 'the Service has no endpoints, so'],
    ['those that match are not ready', [on('near', 'notReady')], 'that matches site is ready, so'],
  ])('says that connections are refused if %s', (_, endpoints, text) => {
    const scene = { endpoints, sets: SITE };
    const { outcome } = explain({ ...scene, policy: managed('site') });
    expect(outcome.text).toContain(text);
    expect(outcome.text).toContain('kube-proxy on this node refuses its connections');
    const trial = explain({ ...scene, policy: policyWith({ dryRun: true }, 'site') });
    // Without endpoints it does refuse them, whatever the policy.
    const refuses = endpoints.length === 0 ? 'refuses' : 'would refuse';
    expect(trial.outcome.text).toContain(`${refuses} its connections`);
  });

  test('each endpoint has its address and object, and the reason why it is shown or not', () => {
    const { endpoints } = explain({
      policy: managed('site', '*'),
      endpoints: [NEAR, FAR, on('')],
      sets: SITE,
    });
    expect(endpoints).toMatchObject([
      { address: '10.0.0.1', node: 'near', object: 'web-1', kept: true },
      { address: '10.0.0.2', kept: false, reason: '* matches, but site has ready endpoints' },
      { address: '10.0.0.3', kept: false, node: '' },
    ]);
  });

  test('an active policy is not described by the next one', () => {
    const origins: PolicyOrigin[] = [
      { source: 'annotation', preset: 'fab-proxy', keys: [HOST, CLOUD] },
      { source: 'default', keys: ['*'] },
    ];
    const own = explain({ policy: managed(HOST), endpoints: [HERE], origins });
    expect(own.policy.preset).toBeUndefined();
    expect(own.policy.overrides).toMatchObject([{ source: 'default' }]);
    const next = explain({ policy: byDefault('*'), endpoints: [HERE], origins });
    expect(next.policy.overrides).toEqual([]);
  });

  // Regression: the Service's port has no name, that of its slice has one, and nothing was reported.
  test('a port of the Service that no endpoint has is named, with the ports that they have', () => {
    const groups = [groupOf(['TCP/http'], [HERE])];
    const { outcome, ports, endpoints, warnings } = explain({
      policy: managed(HOST, '*'),
      ports: ['TCP/'],
      groups,
    });
    expect(outcome.text).toContain('no endpoint has a port of the Service');
    expect(ports).toMatchObject([
      { port: 'TCP/', without: true, why: 'no endpoint has this port' },
    ]);
    expect(endpoints).toMatchObject([
      { kept: false, reason: 'the Service has no port of this endpoint' },
    ]);
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'port-without-endpoints',
        'no endpoint has this port of the Service, so connections fail: IPv4 TCP/; endpoints have TCP/http',
      ],
    ]);
  });

  test('ports of slices that the Service lacks are no reason for a warning', () => {
    const { ports, warnings } = explain({
      policy: managed(HOST),
      ports: ['TCP/http'],
      groups: [groupOf(['TCP/http'], [HERE]), groupOf(['TCP/metrics'], [FAR]), groupOf([], [FAR])],
    });
    expect(ports.map(({ port }) => port)).toEqual(['TCP/http']);
    expect(warnings).toEqual([]);
  });

  const preset: PolicyOrigin = { source: 'annotation', preset: 'x', keys: ['rack', '*'] };
  const hints: PolicyOrigin = { source: 'traffic-distribution', keys: [] };

  test.each<[what: string, Scene, ...warnings: string[]]>([
    ['a policy that works', { policy: managed(HOST, 'site', '*'), endpoints: [NEAR], sets: SITE }],
    [
      'a key without a label here, and no other place in the policy',
      { policy: managed(HOST, 'rack', '*'), endpoints: [FAR] },
      'warning own-label-missing',
    ],
    [
      'such a key, if this node has an endpoint',
      { policy: managed(HOST, 'rack', '*'), endpoints: [HERE, NEAR] },
      'info own-label-missing',
    ],
    [
      'such a key, if this node has an endpoint of one family only',
      { policy: managed(HOST, 'rack', '*'), endpoints: [HERE, on('far', 'ready', 'IPv6')] },
      'warning own-label-missing',
    ],
    [
      'such a key, if another place can match',
      { policy: managed('rack', 'site', '*'), endpoints: [FAR], sets: SITE },
      'info own-label-missing',
    ],
    [
      'such a key of a preset',
      { policy: managed('rack', '*'), endpoints: [FAR], origins: [preset] },
      'info own-label-missing',
    ],
    [
      'such a key of a default',
      { policy: byDefault('rack', '*'), endpoints: [FAR] },
      'info own-label-missing',
    ],
    [
      'such a key of a default, if no key matches an endpoint',
      { policy: byDefault('rack', 'site'), endpoints: [FAR], sets: SITE },
      'warning own-label-missing',
      'warning nothing-matches',
    ],
    [
      'such a key, if one family has no endpoint here',
      { policy: managed('rack', HOST), endpoints: [HERE, on('far', 'ready', 'IPv6')] },
      'warning own-label-missing',
      'warning nothing-matches',
    ],
    [
      'the key of communities on a node in none',
      { policy: managed(COMMUNITY, '*'), endpoints: [FAR] },
      'warning community-empty',
    ],
    [
      'such a key, if another place can match',
      { policy: managed(COMMUNITY, 'site', '*'), endpoints: [FAR], sets: SITE },
      'info community-empty',
    ],
    [
      'a misspelt key, but not of a missing label',
      { policy: managed(HOST, 'topology.kubernetes.io/zon', '*'), endpoints: [HERE] },
      'warning key-misspelt',
    ],
    [
      'topology keys that override hints of the Service',
      { policy: managed('*'), endpoints: [FAR], origins: [{ ...preset, keys: ['*'] }, hints] },
      'info hints-overridden',
    ],
    [
      'hints that override the default',
      {
        policy: { managed: false, reason: 'traffic-distribution' },
        endpoints: [FAR],
        hinted: true,
        origins: [hints, { source: 'default', keys: ['site'] }],
      },
      'info default-overridden',
    ],
    [
      'an invalid annotation',
      { policy: { managed: false, reason: 'invalid-policy', message: 'x' }, endpoints: [FAR] },
      'warning invalid-policy',
    ],
    [
      'an annotation without effect',
      { policy: policyWith({ ignored: ['"x" has no effect'] }, '*'), endpoints: [FAR] },
      'warning annotation-ignored',
    ],
    [
      'an annotation that traffic policy Local leaves without effect',
      {
        policy: { managed: false, reason: 'local-traffic-policy' },
        endpoints: [FAR],
        origins: [{ source: 'annotation', keys: ['*'] }],
      },
      'warning policy-without-effect',
    ],
    [
      'a refused node set, but not of its missing nodes',
      {
        policy: managed(CLOUD, '*'),
        labels: EDGE,
        refused: '!node-role.kubernetes.io/edge',
        endpoints: [FAR],
      },
      'warning node-set-refused',
    ],
    [
      'a node set without room',
      { policy: managed('site', '*'), endpoints: [FAR], options: { maxNodeSets: 0 } },
      'warning node-set-limit',
    ],
    [
      'a Service that is too large',
      {
        policy: managed(HOST, '*'),
        groups: [
          groupOf(
            Array.from({ length: 25_001 }, (_, port) => `TCP/${port}`),
            [FAR],
          ),
        ],
      },
      'warning service-too-large',
    ],
    ['no endpoints', { policy: managed('*') }, 'info no-endpoints'],
    [
      'too few ready endpoints',
      { policy: policyWith({ minReady: [2, 3] }, HOST, '*'), endpoints: [HERE] },
      'warning too-few-ready',
    ],
    [
      'a key that only min-ready has',
      { policy: policyWith({ unusedMinReady: ['sites'] }, HOST, '*'), endpoints: [HERE] },
      'warning min-ready-without-key',
    ],
    [
      'no ready endpoint',
      { policy: managed('*'), endpoints: [on('far', 'notReady')] },
      'warning none-ready',
    ],
    [
      'an endpoint without a node',
      { policy: managed(HOST, '*'), endpoints: [on('')] },
      'info endpoint-without-node',
    ],
    [
      'hints that are cut',
      { policy: managed('*'), hinted: true, endpoints: [FAR] },
      'info hints-cut',
    ],
    [
      'a port that has no number in a slice',
      {
        policy: managed('*'),
        ports: ['TCP/http'],
        groups: [groupOf([], [FAR])],
        unnumbered: ['TCP/http'],
      },
      'warning port-without-number',
    ],
    [
      'imported slices with names of nodes of this cluster',
      { policy: managed('site', '*'), endpoints: [NEAR], sets: SITE, sourceCluster: 'cluster b' },
      'warning imported-slices',
    ],
    [
      'imported slices with names that only another cluster has',
      { policy: managed('site', '*'), endpoints: [HERE, FAR], sets: SITE },
    ],
    [
      'endpoints of an address family that the Service lacks',
      { policy: managed('*'), ports: ['TCP/http'], endpoints: [on('far', 'ready', 'IPv6')] },
      'warning other-family',
    ],
    [
      'a Service with a selector without a slice',
      { policy: managed('*'), objects: [], hasSelector: true },
      'warning no-slices',
    ],
    [
      'a slice with the name of the Service and without its label',
      { policy: managed('*'), objects: [], isUnlabelled: true },
      'warning slice-without-label',
    ],
    [
      'a Service with a selector that fits no Pod',
      { policy: managed('*'), hasSelector: true },
      'info no-endpoints',
    ],
    [
      'copies of an endpoint',
      { policy: managed('*'), groups: [groupOf(['TCP/http'], [FAR, FAR], [1, 1])] },
      'info copies-cut',
    ],
    ['a dry run', { policy: policyWith({ dryRun: true }, '*'), endpoints: [FAR] }, 'info dry-run'],
    [
      'endpoints on this node that no key which wins matches',
      {
        policy: policyWith({ keepsLocal: true }, CLOUD, '*'),
        labels: EDGE,
        sets: { '!node-role.kubernetes.io/edge': ['far'] },
        endpoints: [FAR, HERE],
      },
      'info local-endpoints-kept',
    ],
  ])('the warnings of %s', (_what, scene, ...expected) => {
    const { warnings } = explain(scene);
    expect(warnings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(expected);
  });

  test.each<[what: string, change: Scene['change'], message: string | undefined]>([
    [
      'a policy that needs a node set',
      ({ topology }) => topology.setPolicies(new Map([[SERVICE, managed('rack')]])),
      'the policy needs rack=r',
    ],
    [
      'another value of a label of this node',
      (harness) => harness.setOwnLabels({ site: 'b' }),
      'the change of this node needs site=b',
    ],
    [
      'a node set that is known by then',
      (harness) => {
        harness.setOwnLabels({ site: 'b' });
        harness.sync('site=b', 'edge-1', 'far');
      },
      undefined,
    ],
  ])('a change that waits is shown with the decision before it: %s', (_, change, message) => {
    const labels = { site: 'a', rack: 'r' };
    const scene = { policy: managed('site', '*'), endpoints: [NEAR, FAR], labels, sets: SITE };
    const { outcome, warnings } = explain({ ...scene, change });
    expect(outcome.kind).toBe('filtered');
    const found = warnings.filter(({ code }) => code === 'change-pending');
    expect(
      found.map(({ severity, message: about }) => `${severity} ${about.split(': ')[1]}`),
    ).toEqual(message === undefined ? [] : [`warning ${message}`]);
  });

  // Regression: there was a warning only if all ports lost their endpoints. Clients of one port failed without notice.
  test.each<[string, EndpointGroup[], string]>([
    [
      'one port that loses every endpoint, by name',
      [groupOf(['TCP/http'], [HERE]), groupOf(['TCP/http', 'TCP/metrics'], [FAR])],
      'the policy leaves none: IPv4 TCP/metrics',
    ],
    [
      'one address family that loses every endpoint, by name',
      [groupOf(['TCP/http'], [HERE]), groupOf(['TCP/http'], [on('far', 'ready', 'IPv6')])],
      'the policy leaves none: IPv6 TCP/http',
    ],
    [
      'all ports that lose every endpoint, once',
      [groupOf(['TCP/http', 'TCP/metrics'], [FAR])],
      'no key matches any endpoint, so the policy leaves none',
    ],
  ])('warns of %s', (_, groups, message) => {
    const { warnings } = explain({ policy: managed(HOST), groups });
    expect(warnings).toEqual([
      expect.objectContaining({
        code: 'nothing-matches',
        severity: 'warning',
        message: expect.stringContaining(message),
      }),
    ]);
  });

  test.each<[kind: string, Scene, text: string]>([
    [
      'filtered',
      { policy: managed('site'), endpoints: [NEAR], sets: SITE },
      'enough ready endpoints wins',
    ],
    [
      'unfiltered',
      { policy: { managed: false, reason: 'traffic-distribution' } },
      'its own spec.trafficDistribution',
    ],
    ['undecided', { policy: managed('site'), endpoints: [NEAR] }, 'site=a'],
    [
      'undecided',
      { policy: managed(ZONE), labels: { [ZONE]: 'z1' }, endpoints: [NEAR] },
      `${ZONE}=z1`,
    ],
    ['hidden', { policy: { managed: false, reason: 'other-proxy' } }, ''],
    [
      'withheld',
      {
        policy: managed(CLOUD),
        labels: EDGE,
        sets: { '!node-role.kubernetes.io/edge': ['cloud-1'] },
        endpoints: [on('cloud-1')],
        options: { withholdsServices: true },
      },
      '',
    ],
  ])('a Service is %s', (kind, scene, text) => {
    const { outcome, counts } = explain(scene);
    expect(outcome).toMatchObject({ kind, text: expect.stringContaining(text) });
    const isShown = kind === 'filtered' || kind === 'unfiltered';
    expect(counts.kept).toBe(isShown ? counts.total : 0);
  });

  // Each was once a sentence that is not so, above a warning that said the opposite.
  test.each<[what: string, Partial<Scene>, text: string, warnings: readonly string[]]>([
    [
      'only endpoints of another address family',
      { ports: ['TCP/http'], groups: [groupOf(['TCP/http'], [on('near', 'ready', 'IPv6')])] },
      'no endpoint has an address family of the Service, so connections fail',
      ['other-family'],
    ],
    [
      'only endpoints that serve while they terminate',
      { endpoints: [on('near', 'serving')] },
      'the first of site wins whose endpoints still serve while they terminate, because none is ready',
      [],
    ],
    [
      'only endpoints that are not ready',
      { endpoints: [on('near', 'notReady')] },
      'no endpoint that matches site is ready, so kube-proxy on this node refuses its connections',
      ['none-ready'],
    ],
    [
      'no endpoint for a headless one',
      { policy: policyWith({ headless: true }, 'site'), endpoints: [FAR] },
      'no endpoint matches site, so its name has no address on this node',
      ['nothing-matches'],
    ],
    [
      'relays in other sites only',
      { policy: policyWith({ ofRelays: true }, 'site'), endpoints: [FAR] },
      'no endpoint matches site, so kube-proxy on this node refuses its connections',
      ['no-relay'],
    ],
    [
      'relays in its site that are not ready',
      { policy: policyWith({ ofRelays: true }, 'site'), endpoints: [on('near', 'notReady')] },
      'no endpoint that matches site is ready, so kube-proxy on this node refuses its connections',
      ['no-relay'],
    ],
    [
      'none at all in a dry run',
      { policy: policyWith({ dryRun: true }, 'site'), endpoints: [] },
      'the Service has no endpoints, so kube-proxy on this node refuses its connections',
      ['no-endpoints', 'dry-run'],
    ],
  ])('a filtered Service with %s', (_, scene, text, codes) => {
    const { outcome, warnings } = explain({ policy: managed('site'), sets: SITE, ...scene });
    expect(outcome.text).toBe(text);
    expect(warnings.map(({ code }) => code)).toEqual(codes);
  });

  test.each<[PolicyOrigin, string]>([
    [{ source: 'namespace', keys: ['a', '*'] }, 'annotation topologyKeys of the Namespace (a, *)'],
    [
      { source: 'namespace', keys: [] },
      'annotation topologyKeys of the Namespace (no keys: all endpoints)',
    ],
    [
      { source: 'namespace', keys: [], invalid: 'not JSON' },
      'annotation topologyKeys of the Namespace (invalid: not JSON)',
    ],
  ])('%j is overridden with what it has', (origin, message) => {
    const policy = managed('site', '*');
    const own = { source: 'annotation', keys: ['site', '*'] } as const;
    const { warnings } = explain({ policy, endpoints: [FAR], sets: SITE, origins: [own, origin] });
    const overridden = warnings.find(({ code }) => code === 'default-overridden');
    expect(overridden?.message).toBe(`another source of topology keys is overridden: ${message}`);
  });

  test('an endpoint that no key matches is said to name no node if it does not', () => {
    const nowhere = { ...FAR, node: '' };
    const { endpoints } = explain({
      policy: managed('site'),
      sets: { 'site=a': ['near'] },
      endpoints: [FAR, nowhere],
    });
    expect(endpoints).toMatchObject([
      { reason: 'no key matches' },
      { reason: 'no key matches: it names no node' },
    ]);
  });

  test('endpoints on this node that stay beside the winner are explained and counted', () => {
    const scene = {
      policy: policyWith({ keepsLocal: true }, 'site'),
      sets: { 'site=a': ['near'] },
    };
    const beside = explain({ ...scene, labels: {}, endpoints: [HERE, FAR] });
    expect(beside.counts).toMatchObject({ kept: 1, leftOut: 1 });
    expect(beside.endpoints).toMatchObject([
      { kept: true, reason: 'it is on this node, and externalTrafficPolicy is Local' },
      { kept: false, reason: 'no key matches' },
    ]);
    expect(beside.outcome.text).toContain('endpoints on this node are shown');
    const warnings = beside.warnings.map(({ message }) => message).join();
    expect(warnings).toContain('traffic inside the cluster uses them too');
    // The site includes this node.
    expect(explain({ ...scene, endpoints: [HERE, NEAR] }).warnings).toEqual([]);
    const { endpoints } = explain({
      policy: policyWith({ keepsLocal: true }, CLOUD, '*'),
      labels: EDGE,
      sets: { '!node-role.kubernetes.io/edge': ['far'] },
      endpoints: [FAR, HERE],
    });
    expect(endpoints.map(({ reason }) => reason)).toEqual([
      `${CLOUD} matches, and has ready endpoints`,
      'it is on this node, and externalTrafficPolicy is Local',
    ]);
  });
});
