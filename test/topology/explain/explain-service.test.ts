import { describe, expect, test } from '@jest/globals';
import type {
  Endpoint,
  EndpointGroup,
  EndpointState,
} from '../../../src/topology/decide/endpoint.ts';
import {
  type ExplainInput,
  explainService,
} from '../../../src/topology/explain/explain-service.ts';
import type {
  PolicyOrigin,
  ServiceExplanation,
} from '../../../src/topology/explain/explanation.ts';
import type { Policy } from '../../../src/topology/policy/policy.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { outcomeNow } from '../../support/projection/outcome-now.ts';
import { PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';

const SERVICE = 'shop/web';
const HOST = 'kubernetes.io/hostname';

function on(node: string, state: EndpointState = 'ready', family = 'IPv4'): Endpoint {
  return { family, node, zone: '', state };
}

function keys(...list: string[]): Policy {
  return { managed: true, keys: list, source: 'annotation' };
}

interface Scene {
  readonly policy: Policy;
  readonly endpoints?: readonly Endpoint[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Members of node sets; a set that is not listed here does not sync. */
  readonly sets?: Readonly<Record<string, readonly string[]>>;
  readonly refused?: string;
  readonly topology?: Partial<typeof PLAIN_TOPOLOGY>;
  readonly input?: Partial<ExplainInput>;
  readonly hinted?: boolean;
}

function explain(scene: Scene): ServiceExplanation {
  const { policy, endpoints = [], labels = { site: 'a' }, sets = {} } = scene;
  const topology = new Topology({ ...PLAIN_TOPOLOGY, ...scene.topology, nodeName: 'here' });
  topology.setOwnNode({ labels: new Map(Object.entries(labels)), annotations: new Map() });
  topology.setPolicies(new Map([[SERVICE, policy]]));
  topology.setSynced('services');
  for (const [selector, members] of Object.entries(sets)) {
    topology.changeNodeSet(selector, members, []);
    topology.setNodeSetState(selector);
  }
  if (scene.refused !== undefined) topology.setNodeSetState(scene.refused, '403 Forbidden');
  const addresses = endpoints.map((_, index) => `10.0.0.${index + 1}`);
  const groups = [{ ports: ['TCP/http'], endpoints }];
  const { hinted = false } = scene;
  const objects = scene.input?.objects ?? [
    { name: 'web-1', hinted, groups, addresses: () => addresses, isShown: () => false },
  ];
  return explainService({
    topology,
    outcome: outcomeNow(
      topology,
      SERVICE,
      objects.flatMap((object) => object.groups),
    ),
    objects,
    origins: [],
    delayed: new Map(),
    timeOf: (ms) => new Date(ms),
    since: undefined,
    limits: { endpoints: 1_000, ports: 200 },
    ...scene.input,
  });
}

const SITE = { 'site=a': ['here', 'near'] };

describe('explainService()', () => {
  test('counts what each key matches, names the winner, and what would win without it', () => {
    const { ports, counts, outcome } = explain({
      policy: keys(HOST, 'site', '*'),
      endpoints: [on('near'), on('near', 'serving'), on('far')],
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
  });

  // A Service with 0 of 4 endpoints was once headed "the first of rack that counts wins".
  test.each([
    ['no endpoint matches', [on('far')], 'no endpoint matches site, so'],
    ['there are no endpoints', [], 'the Service has no endpoints, so'],
    ['those that match are not ready', [on('near', 'notReady')], 'that matches site is ready, so'],
  ])('says that connections are refused if %s', (_, endpoints, text) => {
    const scene = { endpoints, sets: SITE };
    const { outcome } = explain({ ...scene, policy: keys('site') });
    expect(outcome.text).toContain(text);
    expect(outcome.text).toContain('kube-proxy on this node refuses its connections');
    const trial = explain({ ...scene, policy: { ...keys('site'), dryRun: true } });
    expect(trial.outcome.text).toContain('would refuse its connections');
  });

  test('says that the first key wins if an endpoint is ready or serving', () => {
    for (const state of ['ready', 'serving'] as const) {
      const { outcome } = explain({
        policy: keys('site'),
        endpoints: [on('near', state)],
        sets: SITE,
      });
      expect(outcome.text).toBe('the first of site with enough ready endpoints wins');
    }
  });

  test('each endpoint has its address and object, and the reason why it is shown or not', () => {
    const { endpoints } = explain({
      policy: keys('site', '*'),
      endpoints: [on('near'), on('far'), on('')],
      sets: SITE,
    });
    expect(endpoints).toMatchObject([
      { address: '10.0.0.1', node: 'near', object: 'web-1', kept: true },
      { address: '10.0.0.2', kept: false, reason: '* matches, but site has ready endpoints' },
      { address: '10.0.0.3', kept: false, node: '' },
    ]);
  });

  test('explains a return delay: the key that is held, the key that waits, and until when', () => {
    const policy: Policy = { ...keys('site', '*'), returnDelayMs: 30_000 } as Policy;
    const held = { key: 1, since: new Map([[0, 5_000]]) };
    const { ports, endpoints } = explain({
      policy,
      endpoints: [on('near'), on('far')],
      sets: SITE,
      input: { delayed: new Map([['IPv4 TCP/http', held]]) },
    });
    expect(ports[0]).toMatchObject({
      winner: '*',
      why: 'site is ready again, but not for long enough yet',
      returning: { key: 'site', at: new Date(35_000).toISOString() },
    });
    expect(endpoints.map(({ kept }) => kept)).toEqual([true, true]);
  });

  // The node of the site and the node of the rack are different, so the two keys share no endpoint.
  const RACKS = { 'site=a': ['near'], 'rack=r': ['far'] };
  const RACK_HELD: Omit<Scene, 'policy'> = {
    labels: { site: 'a', rack: 'r' },
    endpoints: [on('near'), on('far')],
    sets: RACKS,
    input: { delayed: new Map([['IPv4 TCP/http', { key: 1, since: new Map([[0, 5_000]]) }]]) },
  };

  test('the next winner is the key that the return delay would choose', () => {
    const policy: Policy = { ...keys('site', 'rack', '*'), returnDelayMs: 30_000 } as Policy;
    const { ports } = explain({ ...RACK_HELD, policy });
    // The site is ready again, but still has to wait.
    expect(ports[0]).toMatchObject({ winner: 'rack', next: '*' });
  });

  test('explains a nearer key that waits, also if no key has enough ready endpoints', () => {
    const policy = { ...keys('site', 'rack'), returnDelayMs: 30_000, minReady: [2, 2] } as Policy;
    const { ports } = explain({ ...RACK_HELD, policy });
    expect(ports[0]).toMatchObject({
      winner: 'rack',
      why: 'no key has as many ready endpoints as it needs; site is ready again, but not for long enough yet',
    });
  });

  test('an active policy is not described by the next one', () => {
    const origins: PolicyOrigin[] = [
      { source: 'annotation', preset: 'fab-proxy', keys: [HOST, 'kube-proxy-wrapper.io/cloud'] },
      { source: 'default', keys: ['*'] },
    ];
    const endpoints = [on('here')];
    const own = explain({ policy: keys(HOST), endpoints, input: { origins } });
    expect(own.policy.preset).toBeUndefined();
    expect(own.policy.overrides).toMatchObject([{ source: 'default' }]);
    const policy: Policy = { managed: true, keys: ['*'], source: 'default' };
    expect(explain({ policy, endpoints, input: { origins } }).policy.overrides).toEqual([]);
  });

  describe('a key that matches nothing on this node', () => {
    const NEAR = [on('here'), on('near')];
    const preset = [{ source: 'annotation', preset: 'x', keys: ['rack', '*'] }] as const;

    test.each<[what: string, severity: string, Scene]>([
      ['is a warning if the policy has no other place', 'warning', { policy: keys('rack', '*') }],
      ['also beside the node itself', 'warning', { policy: keys(HOST, 'rack', '*') }],
      [
        'is a note if this node has an endpoint',
        'info',
        {
          policy: keys(HOST, 'rack', '*'),
          endpoints: NEAR,
        },
      ],
      ['is a note if another place can match', 'info', { policy: keys('rack', 'site', '*') }],
      [
        'is a note in a preset',
        'info',
        {
          policy: keys('rack', '*'),
          input: { origins: preset },
        },
      ],
      [
        'is a note in a default',
        'info',
        {
          policy: { managed: true, keys: ['rack', '*'], source: 'default' },
        },
      ],
      [
        'is a warning if the Service has no endpoint here',
        'warning',
        {
          policy: { managed: true, keys: ['rack', 'site'], source: 'default' },
        },
      ],
      [
        'is a warning if a port has none',
        'warning',
        {
          policy: keys('rack', HOST),
          endpoints: [on('here'), on('far', 'ready', 'IPv6')],
        },
      ],
    ])('%s', (_, severity, scene) => {
      const { warnings } = explain({ endpoints: [on('far')], sets: SITE, ...scene });
      expect(warnings.find(({ code }) => code === 'own-label-missing')).toMatchObject({ severity });
    });

    test('is always a warning if it is misspelt, and nobody is told to label the node', () => {
      const { warnings } = explain({
        policy: keys(HOST, 'topology.kubernetes.io/zon', '*'),
        endpoints: NEAR,
      });
      expect(warnings).toEqual([
        {
          code: 'key-misspelt',
          severity: 'warning',
          message:
            'topology.kubernetes.io/zon matches nothing: node here has no such label; did you mean topology.kubernetes.io/zone?',
        },
      ]);
    });
  });

  test('topology keys that override hints of the Service are noted', () => {
    const origins: readonly PolicyOrigin[] = [
      { source: 'annotation', keys: ['*'] },
      { source: 'traffic-distribution', keys: [] },
    ];
    const { warnings } = explain({ policy: keys('*'), endpoints: [on('far')], input: { origins } });
    expect(warnings).toEqual([
      {
        code: 'hints-overridden',
        severity: 'info',
        message:
          'its topology keys override its own spec.trafficDistribution: kube-proxy gets no topology hints',
      },
    ]);
  });

  test('a Service that requests hints is unfiltered, and says what that overrides', () => {
    const origins: readonly PolicyOrigin[] = [
      { source: 'traffic-distribution', keys: [] },
      { source: 'default', keys: ['site'] },
    ];
    const policy: Policy = { managed: false, reason: 'traffic-distribution' };
    const explained = explain({ policy, endpoints: [on('far')], hinted: true, input: { origins } });
    expect(explained.outcome).toMatchObject({
      kind: 'unfiltered',
      text: expect.stringContaining('its own spec.trafficDistribution'),
    });
    expect(explained.warnings.map(({ code }) => code)).toEqual(['default-overridden']);
    expect(explained.counts).toMatchObject({ kept: 1, leftOut: 0 });
  });

  test.each<[string, Scene, string]>([
    [
      'invalid annotation',
      { policy: { managed: false, reason: 'invalid-policy', message: 'x' } },
      'invalid-policy',
    ],
    [
      'an annotation without effect',
      { policy: { ...keys('*'), ignored: ['the annotation "x" has no effect'] } },
      'annotation-ignored',
    ],
    [
      'a refused node set',
      { policy: keys('site', '*'), refused: 'site=a', endpoints: [on('far')] },
      'node-set-refused',
    ],
    ['no endpoints', { policy: keys('*') }, 'no-endpoints'],
    [
      'too few ready',
      { policy: { ...keys(HOST, '*'), minReady: [2, 3] } as Policy, endpoints: [on('here')] },
      'too-few-ready',
    ],
    ['none ready', { policy: keys('*'), endpoints: [on('far', 'serving')] }, 'none-ready'],
    [
      'an endpoint without a node',
      { policy: keys(HOST, '*'), endpoints: [on('')] },
      'endpoint-without-node',
    ],
    ['hints', { policy: keys('*'), hinted: true, endpoints: [on('far')] }, 'hints-cut'],
    [
      'dry run',
      { policy: { ...keys('*'), dryRun: true } as Policy, endpoints: [on('far')] },
      'dry-run',
    ],
    [
      'an annotation that traffic policy Local leaves without effect',
      {
        policy: { managed: false, reason: 'local-traffic-policy' },
        endpoints: [on('far')],
        input: { origins: [{ source: 'annotation', keys: ['*'] }] },
      },
      'policy-without-effect',
    ],
  ])('warns of %s', (_, scene, code) => {
    expect(explain(scene).warnings.map((each) => each.code)).toContain(code);
  });

  test('warns of a key that only min-ready has', () => {
    const policy = { ...keys(HOST, '*'), unusedMinReady: ['sites'] } as Policy;
    const { warnings } = explain({ policy, endpoints: [on('here')] });
    const message = expect.stringContaining('"sites"');
    expect(warnings).toEqual([{ code: 'min-ready-without-key', severity: 'warning', message }]);
  });

  /** One object with these groups of endpoints. */
  function objects(...groups: EndpointGroup[]): ExplainInput['objects'] {
    return [{ name: 'web-1', hinted: false, groups, addresses: () => [], isShown: () => false }];
  }

  // Regression: there was a warning only if all ports lost their endpoints. Clients of one port failed without notice.
  test.each<[string, EndpointGroup[], string]>([
    [
      'port',
      [
        { ports: ['TCP/http'], endpoints: [on('here')] },
        { ports: ['TCP/http', 'TCP/metrics'], endpoints: [on('far')] },
      ],
      'IPv4 TCP/metrics: no key matches any endpoint',
    ],
    [
      'address family',
      [
        { ports: ['TCP/http'], endpoints: [on('here')] },
        { ports: ['TCP/http'], endpoints: [on('far', 'ready', 'IPv6')] },
      ],
      'IPv6 TCP/http: no key matches any endpoint',
    ],
  ])('warns of one %s that loses every endpoint, by name', (_, groups, message) => {
    const { warnings } = explain({ policy: keys(HOST), input: { objects: objects(...groups) } });
    expect(warnings).toEqual([
      {
        code: 'nothing-matches',
        severity: 'warning',
        message: expect.stringContaining(message),
      },
    ]);
  });

  test('warns once of a Service that loses every endpoint of all ports', () => {
    const groups = [{ ports: ['TCP/http', 'TCP/metrics'], endpoints: [on('far')] }];
    const { warnings } = explain({ policy: keys(HOST), input: { objects: objects(...groups) } });
    expect(warnings.map(({ message }) => message)).toEqual([
      'no key matches any endpoint, so connections fail; * as the last key would allow any endpoint',
    ]);
  });

  test('a policy that works has no warning', () => {
    const { warnings } = explain({
      policy: keys(HOST, 'site', '*'),
      endpoints: [on('near')],
      sets: SITE,
    });
    expect(warnings).toEqual([]);
  });

  test('a pending policy names the node sets that it waits for', () => {
    const { outcome, counts } = explain({ policy: keys('site'), endpoints: [on('near')] });
    expect(outcome).toMatchObject({ kind: 'undecided', waitsFor: ['site=a'] });
    expect(outcome.text).toContain('site=a');
    expect(counts.kept).toBe(0);
  });

  test('does not report missing nodes when nodes may not be read', () => {
    const { warnings } = explain({
      policy: keys('kube-proxy-wrapper.io/cloud', '*'),
      labels: { 'node-role.kubernetes.io/edge': '' },
      refused: '!node-role.kubernetes.io/edge',
      endpoints: [on('far')],
    });
    expect(warnings.map(({ code }) => code)).toEqual(['node-set-refused']);
  });

  test('a Service of another proxy is hidden, and one whose traffic all goes to the cloud is withheld', () => {
    expect(explain({ policy: { managed: false, reason: 'other-proxy' } }).outcome.kind).toBe(
      'hidden',
    );
    const cloud = explain({
      policy: keys('kube-proxy-wrapper.io/cloud'),
      labels: { 'node-role.kubernetes.io/edge': '' },
      sets: { '!node-role.kubernetes.io/edge': ['cloud-1'] },
      endpoints: [on('cloud-1')],
      topology: { cloudPassthrough: true },
    });
    expect(cloud).toMatchObject({ outcome: { kind: 'withheld' }, counts: { kept: 0, leftOut: 1 } });
    expect(cloud.endpoints).toMatchObject([{ kept: false }]);
  });

  test('endpoints on this node that stay beside the winner are explained and counted', () => {
    const policy = { ...keys('site'), keepsLocal: true } as Policy;
    const scene = { policy, labels: { site: 'a' }, sets: { 'site=a': ['near'] } };
    const beside = explain({ ...scene, labels: {}, endpoints: [on('here'), on('far')] });
    expect(beside.counts).toMatchObject({ kept: 1, leftOut: 1 });
    expect(beside.endpoints).toMatchObject([
      {
        node: 'here',
        kept: true,
        reason: 'it is on this node, and externalTrafficPolicy is Local',
      },
      { node: 'far', kept: false, reason: 'no key matches' },
    ]);
    expect(beside.outcome.text).toContain('those on this node are shown');
    const warnings = beside.warnings.map(({ message }) => message).join();
    expect(warnings).toContain('only endpoints on this node are shown');
    expect(warnings).toContain('traffic inside the cluster uses them too');
    // The site includes this node.
    const among = explain({ ...scene, endpoints: [on('here'), on('near')] });
    expect(among.warnings).toEqual([]);
    expect(among.endpoints.map(({ reason }) => reason)).not.toContain('Local');
  });

  test('a Service whose endpoints lost their zones waits, and what is shown stays', () => {
    const zone = 'topology.kubernetes.io/zone';
    const scene = { policy: keys(zone), labels: { [zone]: 'z1' } };
    const withZone = explain({ ...scene, endpoints: [{ ...on('near'), zone: 'z1' }] });
    expect([withZone.outcome.kind, withZone.warnings]).toEqual(['filtered', []]);
    const { outcome } = explain({ ...scene, endpoints: [on('near')] });
    expect(outcome.kind).toBe('undecided');
    expect(outcome.text).toContain('until then what is shown does not change');
  });
});
