import { describe, expect, test } from '@jest/globals';
import type { PolicySettings } from '../../../src/topology/policy/service-policy.ts';
import {
  isOfOtherProxy,
  namespacePolicyOf,
  policyFor,
} from '../../../src/topology/policy/service-policy.ts';
import { NO_POLICY as none } from '../../support/topology/plain-topology.ts';
import {
  type GivenService as Given,
  describeService as service,
} from '../../support/topology/service-description.ts';

const HOST = 'kubernetes.io/hostname';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const COMMUNITY = 'kube-proxy-wrapper.io/community';
const ZONE = 'topology.kubernetes.io/zone';
const MIN_READY = 'kube-proxy-wrapper.io/min-ready';

/** The policy in short: the reason, or the source and the keys. */
function policy(given: Given, settings: Partial<PolicySettings> = {}, namespaceKeys?: string) {
  const result = policyFor(service(given), { ...none, ...settings }, { keys: namespaceKeys });
  return result.managed ? `${result.source} ${result.keys}` : result.reason;
}

describe('hints that a Service requests itself', () => {
  const defaults = { defaults: { keys: ['default'] } };
  const mode = (value: string, name = 'topology-mode') => ({
    annotations: { [`service.kubernetes.io/${name}`]: value },
  });

  test.each<[string, Given, string]>([
    ['trafficDistribution', { trafficDistribution: 'PreferClose' }, 'traffic-distribution'],
    ['the annotation topology-mode', mode('auto'), 'topology-mode'],
    ['its old name', mode('Auto', 'topology-aware-hints'), 'topology-mode'],
    ['a mode of another implementation', mode('example.com/lowest-rtt'), 'topology-mode'],
  ])('come before a default and its Namespace: %s', (_, given, reason) => {
    expect(policy(given, defaults)).toBe(reason);
    expect(policy(given, defaults, '["namespace"]')).toBe(reason);
    expect(policy({ ...given, name: 'kubernetes' }, defaults)).toBe('kubernetes-service');
  });

  test('are requested by the old name first, which has no modes of other implementations', () => {
    const both = (old: string, value: string): Given => ({
      annotations: { ...mode(old, 'topology-aware-hints').annotations, ...mode(value).annotations },
    });
    expect(policy(both('Disabled', 'Auto'), defaults)).toBe('default default');
    expect(policy(both('disabled', 'example.com/x'), defaults)).toBe('default default');
    expect(policy(mode('example.com/x', 'topology-aware-hints'), defaults)).toBe('default default');
    expect(policy(both('auto', 'Disabled'), defaults)).toBe('topology-mode');
  });

  const other = ['Disabled', 'disabled', '', 'AUTO', 'True', 'single'];
  test.each(other)('are not requested by topology-mode %j', (value) => {
    expect(policy(mode(value), defaults)).toBe('default default');
    const both = { ...mode(value), trafficDistribution: 'PreferSameNode' };
    expect(policy(both, defaults)).toBe('traffic-distribution');
  });

  test('give way to the topology keys of the Service, also if they mean no policy', () => {
    const given = { trafficDistribution: 'PreferSameNode' };
    expect(policy({ ...given, annotations: { topologyKeys: '["own"]' } }, defaults)).toBe(
      'annotation own',
    );
    expect(policy({ ...given, annotations: { topologyKeys: '[]' } }, defaults)).toBe('no-policy');
  });
});

describe('the annotation with a prefix', () => {
  const PREFIXED = 'kube-proxy-wrapper.io/topology-keys';

  test('has the same values, and wins over the one without', () => {
    expect(policy({ annotations: { [PREFIXED]: '["site","*"]' } })).toBe('annotation site,*');
    const both = { [PREFIXED]: '["site"]', topologyKeys: '["rack"]' };
    expect(policy({ annotations: both })).toBe('annotation site');
    expect(policyFor(service({ annotations: both }), none).ignored).toHaveLength(1);
  });

  test('counts in a Namespace too', () => {
    const both = new Map([
      [PREFIXED, '["site"]'],
      ['topologyKeys', '["rack"]'],
    ]);
    expect(namespacePolicyOf(both)).toMatchObject({
      keys: '["site"]',
      ignored: [expect.stringContaining('topologyKeys has no effect')],
    });
  });
});

test('with externalTrafficPolicy Local a policy keeps the endpoints on this node', () => {
  const annotations = { topologyKeys: '["own"]' };
  const keepsLocal = (given: Given) => {
    const result = policyFor(service({ annotations, ...given }), none);
    return result.managed && result.keepsLocal;
  };
  expect(keepsLocal({ externalLocal: true })).toBe(true);
  expect(keepsLocal({})).toBeUndefined();
  expect(keepsLocal({ externalLocal: true, internalLocal: true })).toBe(false);
});

describe('what applies to a Service', () => {
  const mesh = { serviceFilter: { label: 'mesh', hides: 'labelled' } } as const;
  const all: Partial<PolicySettings> = {
    ...mesh,
    compatibility: ['openyurt', 'kubeedge'],
    defaults: { keys: ['default'] },
  };
  /** All that can apply to a Service, in order: without the first ones, the next one applies. */
  const layers: [string, Given][] = [
    ['other-proxy', { labels: { mesh: '' } }],
    ['service-off', { annotations: { 'kube-proxy-wrapper.io/filter': 'off' } }],
    ['local-traffic-policy', { internalLocal: true }],
    ['headless', { headless: true }],
    ['annotation own', { annotations: { topologyKeys: '["own"]' } }],
    [
      `openyurt apps.openyurt.io/nodepool,${HOST}`,
      { annotations: { 'openyurt.io/topologyKeys': 'openyurt.io/nodepool' } },
    ],
    [
      `kubeedge apps.kubeedge.io/belonging-to,${HOST}`,
      { annotations: { 'apps.kubeedge.io/service-topology': 'range-nodegroup' } },
    ],
    ['topology-mode', { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } }],
    ['traffic-distribution', { trafficDistribution: 'PreferSameZone' }],
  ];
  test.each(layers.map(([expected], index) => [expected, index] as const))(
    '%s has priority over all that come after it',
    (expected, index) => {
      const remaining = layers.slice(index).map(([, layer]) => layer);
      const annotations = Object.assign({}, ...remaining.map((layer) => layer.annotations));
      const given: Given = Object.assign({}, ...remaining, { annotations });
      expect(policy(given, all, '["namespace"]')).toBe(expected);
    },
  );

  test('the Namespace has priority over the default, and default/kubernetes follows neither', () => {
    expect(policy({}, all, '["namespace"]')).toBe('namespace namespace');
    expect(policy({}, all)).toBe('default default');
    expect(policy({}, none)).toBe('no-policy');
    expect(policy({ name: 'kubernetes' }, all, '["namespace"]')).toBe('kubernetes-service');
    expect(policy({ name: 'kubernetes', namespace: 'other' }, all)).toBe('default default');
    expect(policy({ name: 'kubernetes', annotations: { topologyKeys: '["site"]' } }, all)).toBe(
      'annotation site',
    );
  });

  test('an empty list means no constraint, in every source', () => {
    expect(policy({ annotations: { topologyKeys: '[]' } }, all, '["namespace"]')).toBe('no-policy');
    expect(policy({}, all, '[]')).toBe('no-policy');
    expect(policy({ annotations: { 'openyurt.io/topologyKeys': '' } }, all)).toBe('no-policy');
  });

  test('headless Services have a policy if the setting says so', () => {
    expect(policy({ headless: true }, { ...all, headless: true })).toBe('default default');
  });

  test.each([
    ['topologyKeys', '['],
    ['openyurt.io/topologyKeys', 'moon'],
    ['apps.kubeedge.io/service-topology', 'range-moon'],
  ])('an invalid %s leaves the Service unfiltered and says why', (key, value) => {
    const result = policyFor(service({ annotations: { [key]: value } }), { ...none, ...all });
    expect(result).toMatchObject({ managed: false, reason: 'invalid-policy' });
    expect(result).toHaveProperty('message', expect.stringContaining(JSON.stringify(value)));
  });

  test('annotations of other systems are read only if enabled', () => {
    const annotations = {
      'openyurt.io/topologyKeys': HOST,
      'apps.kubeedge.io/service-topology': 'range-nodegroup',
    };
    expect(policy({ annotations })).toBe('no-policy');
    expect(policy({ annotations }, { compatibility: ['kubeedge'] })).toMatch(/^kubeedge/);
    expect(policy({ annotations }, { compatibility: ['openyurt'] })).toBe(`openyurt ${HOST}`);
  });

  // openyurtio/openyurt#590: nothing said why the annotation had no effect.
  test('annotations of other systems that are not read are reported, unless another one applies', () => {
    const annotations = {
      'openyurt.io/topologyKeys': 'kubernetes.io/zone',
      'apps.kubeedge.io/service-topology': '',
    };
    const ignored = (own: object, compatibility: PolicySettings['compatibility'] = []) =>
      policyFor(service({ annotations: { ...annotations, ...own } }), { ...none, compatibility })
        .ignored;
    const unread =
      'the annotation openyurt.io/topologyKeys has no effect here; the setting compatibility does not list openyurt';
    expect(ignored({})).toEqual([unread]);
    expect(ignored({ topolgyKeys: '[]' })).toEqual([
      unread,
      expect.stringContaining('did you mean topologyKeys?'),
    ]);
    expect(ignored({}, ['openyurt'])).toBeUndefined();
    expect(ignored({ topologyKeys: '[]' })).toBeUndefined();
    expect(ignored({ 'kube-proxy-wrapper.io/filter': 'off' })).toBeUndefined();
  });

  test.each([
    ['openyurt.io/topologyKeys', ` ${HOST} , * `, `openyurt ${HOST},*`],
    ['openyurt.io/topologyKeys', ' ', 'no-policy'],
    [
      'apps.kubeedge.io/service-topology',
      ' range-nodegroup ',
      `kubeedge apps.kubeedge.io/belonging-to,${HOST}`,
    ],
  ])('space in %s is ignored: %j', (key, value, expected) => {
    const compatibility = ['openyurt', 'kubeedge'] as const;
    expect(policy({ annotations: { [key]: value } }, { compatibility })).toBe(expected);
  });
});

describe('presets', () => {
  test.each([
    ['fab-proxy', [HOST, CLOUD], true],
    ['fab-proxy-community', [HOST, COMMUNITY, CLOUD], true],
    ['prefer-same-node', [HOST, ZONE, '*'], undefined],
    ['prefer-same-zone', [ZONE, '*'], undefined],
    ['same-zone-only', [ZONE], undefined],
  ])('%s, on a Service or its Namespace', (name, keys, edgeOnly) => {
    const own = service({ annotations: { topologyKeys: ` ${name} ` } });
    const expected = { managed: true, keys, ...(edgeOnly === true ? { edgeOnly } : {}) };
    expect(policyFor(own, none)).toEqual({ ...expected, source: 'annotation' });
    expect(policyFor(service(), none, { keys: name })).toEqual({
      ...expected,
      source: 'namespace',
    });
  });

  test.each(['toString', '__proto__', 'FAB-PROXY'])('%s is not a preset', (name) => {
    expect(policy({ annotations: { topologyKeys: name } })).toBe('invalid-policy');
  });
});

describe('the numbers of a policy', () => {
  const settings = { ...none, minReady: new Map([[HOST, 3]]) };
  const tuned = (annotations: Given['annotations'], keys = `["${HOST}","site","*"]`) =>
    policyFor(service({ annotations: { topologyKeys: keys, ...annotations } }), settings);

  test.each<[string | undefined, readonly number[] | undefined, string[] | undefined]>([
    [undefined, [3, 1, 1], undefined],
    ['{"site":2}', [3, 2, 1], undefined],
    [`{"${HOST}":1}`, undefined, undefined],
    ['{"sites":9,"*":2}', [3, 1, 2], ['sites']],
  ])(
    'min-ready %j replaces the setting key by key: %j; keys without effect: %j',
    (text, minReady, unusedMinReady) => {
      const policy = tuned(text === undefined ? {} : { [MIN_READY]: text });
      const given = { minReady: undefined, unusedMinReady: undefined, ...policy };
      expect(given).toMatchObject({ managed: true, minReady, unusedMinReady });
    },
  );

  const minReady = /min-ready is .*whole numbers from 1 on, such as '\{.*:2\}'/;
  test.each([
    ...['', 'null', '[2]', '{"*":2,"site":0}', '{"site":1.5}', '{"site":"2"}'].map(
      (text) => [MIN_READY, text, minReady] as const,
    ),
  ])('%s %j is invalid, and the message shows a valid one', (key, text, message) => {
    const policy = { managed: false, message: expect.stringMatching(message) };
    expect(tuned({ [key]: text })).toMatchObject(policy);
  });
});

describe('isOfOtherProxy()', () => {
  test.each([
    ['labelled', { mesh: '' }, true],
    ['labelled', {}, false],
    ['unlabelled', { mesh: '' }, false],
    ['unlabelled', {}, true],
  ] as const)(
    'with %s Services hidden, a Service with labels %j is hidden: %j',
    (hides, labels, expected) => {
      const filter = { label: 'mesh', hides };
      expect(isOfOtherProxy(service({ labels }), filter)).toBe(expected);
      expect(isOfOtherProxy(service({ labels, name: 'kubernetes' }), filter)).toBe(false);
      expect(isOfOtherProxy(service({ labels }), undefined)).toBe(false);
    },
  );
});

describe('the filter', () => {
  const settings = { ...none, defaults: { keys: ['site'] } };
  const filtered = (filter: string) =>
    service({ annotations: { 'kube-proxy-wrapper.io/filter': filter } });

  test.each<[string, string | undefined, string | undefined, boolean]>([
    ['of the Service', ' dry-run\n', undefined, false],
    ['of its Namespace', undefined, 'dry-run', false],
    ['of the settings', undefined, undefined, true],
  ])('%s makes a dry run', (_, own, ofNamespace, dryRun) => {
    const given = own === undefined ? service() : filtered(own);
    const result = policyFor(given, { ...settings, dryRun }, { filter: ofNamespace });
    expect(result).toMatchObject({ managed: true, keys: ['site'], dryRun: true });
  });

  test('of a Namespace switches filtering off or to a dry run, unless the Service has its own', () => {
    expect(policyFor(service(), settings, { filter: 'off' })).toMatchObject({
      reason: 'service-off',
    });
    for (const filter of ['off', 'dry-run']) {
      const result = policyFor(filtered('on'), settings, { filter });
      expect([result.managed, result.dryRun]).toEqual([true, undefined]);
    }
  });

  test.each(['dryrun', 'Off', ''])(
    '%j is invalid: it is reported, and the Service is not filtered',
    (filter) => {
      const message = expect.stringContaining('write off, dry-run or on');
      const invalid = { managed: false, reason: 'invalid-policy', message };
      expect(policyFor(filtered(filter), settings)).toEqual(invalid);
      const ofNamespace = { ...invalid, ofNamespace: true };
      expect(policyFor(service(), settings, { filter })).toEqual(ofNamespace);
    },
  );
});
