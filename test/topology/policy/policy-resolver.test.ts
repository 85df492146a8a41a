import { beforeEach, describe, expect, test } from '@jest/globals';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import {
  type PolicySettings,
  policyFor,
  type ServiceDescription,
} from '../../../src/topology/policy/service-policy.ts';
import { NO_POLICY } from '../../support/topology/plain-topology.ts';
import { describeService } from '../../support/topology/service-description.ts';

let resolver: PolicyResolver;

beforeEach(() => {
  resolver = new PolicyResolver({ ...NO_POLICY, defaults: { keys: ['*'] } });
});

function service(name: string, keys?: string, namespace = 'shop'): ServiceDescription {
  const annotations: Record<string, string> = keys === undefined ? {} : { topologyKeys: keys };
  return describeService({ namespace, name, annotations });
}

/** The policies that a change of the Namespace changes, as `service: source keys`. */
function setNamespace(keys: string | undefined, namespace = 'shop'): string[] {
  return [...resolver.setNamespace(namespace, { keys })].map(([key, policy]) => {
    if (policy === undefined) return `${key}: gone`;
    return `${key}: ${policy.managed ? `${policy.source} ${policy.keys}` : policy.reason}`;
  });
}

describe('PolicyResolver', () => {
  test('Services follow the annotation of their Namespace: added, changed, invalid and deleted', () => {
    resolver.setService(service('web'));
    resolver.setService(service('own', '["site"]'));
    resolver.setService(service('web', undefined, 'other'));
    expect(setNamespace('["site"]')).toEqual(['shop/web: namespace site']);
    expect(setNamespace('["site"]')).toEqual([]);
    expect(setNamespace('prefer-same-zone')).toEqual([
      'shop/web: namespace topology.kubernetes.io/zone,*',
    ]);
    expect(setNamespace('[')).toEqual(['shop/web: invalid-policy']);
    expect(setNamespace('[]')).toEqual(['shop/web: no-policy']);
    expect(setNamespace(undefined)).toEqual(['shop/web: default *']);
    expect(setNamespace(undefined)).toEqual([]);
  });

  test('a Service with an annotation does not follow its Namespace, and follows again without it', () => {
    resolver.setService(service('web'));
    resolver.setService(service('web', '["*"]'));
    expect(setNamespace('["site"]')).toEqual([]);
    expect(resolver.setService(service('web'))).toMatchObject({ keys: ['site'] });
    expect(setNamespace('["zone"]')).toEqual(['shop/web: namespace zone']);
  });

  test('a Service with only the filter annotation (on or dry-run) follows the keys of its Namespace', () => {
    for (const [name, filter] of Object.entries({ web: 'on', db: 'dry-run' })) {
      const annotations = new Map([['kube-proxy-wrapper.io/filter', filter]]);
      resolver.setService({ ...service(name), annotations });
    }
    expect(setNamespace('["site"]')).toEqual([
      'shop/web: namespace site',
      'shop/db: namespace site',
    ]);
    expect(setNamespace(undefined)).toEqual(['shop/web: default *', 'shop/db: default *']);
  });

  test('a deleted Service does not follow', () => {
    resolver.setService(service('web'));
    resolver.setService(service('db'));
    resolver.deleteService('shop/web');
    expect(setNamespace('["site"]')).toEqual(['shop/db: namespace site']);
    resolver.deleteService('shop/db');
    resolver.deleteService('shop/db');
    expect(setNamespace('["zone"]')).toEqual([]);
  });

  test('default/kubernetes has no keys from its Namespace, but is switched off with it', () => {
    resolver.setService(service('kubernetes', '["*"]', 'default'));
    expect(setNamespace('["site"]', 'default')).toEqual([]);
    const changed = [...resolver.setNamespace('default', { filter: 'off' })];
    expect(changed).toEqual([['default/kubernetes', { managed: false, reason: 'service-off' }]]);
    const later = resolver.setService(service('kubernetes', '["*"]', 'default'));
    expect(later).toEqual({ managed: false, reason: 'service-off' });
  });

  test('equal policies are one object', () => {
    const one = resolver.setService(service('web', '["site"]'));
    expect(resolver.setService(service('db', '["site"]'))).toBe(one);
    expect(resolver.setService(service('db', '["zone"]'))).not.toBe(one);
  });

  const LIKE_ANOTHER: readonly (readonly [what: string, Partial<ServiceDescription>])[] = [
    ['a value of an annotation', { annotations: new Map([['topologyKeys', '["zone"]']]) }],
    ['a misspelt annotation', { annotations: new Map([['topologykeys', '["site"]']]) }],
    ['the label of another proxy', { labels: new Map([['mesh', '']]) }],
    ['its name: the API server', { namespace: 'default', name: 'kubernetes' }],
    ['its name: relays', { namespace: 'kube-system', name: 'relays' }],
    ['that it is headless', { headless: true }],
    ['that nobody reads it', { isUnread: true }],
    ['its internalTrafficPolicy', { internalLocal: true }],
    ['its externalTrafficPolicy', { externalLocal: true }],
    ['its trafficDistribution', { trafficDistribution: 'PreferClose', annotations: new Map() }],
  ];

  test.each(LIKE_ANOTHER)(
    'a Service has its own policy, if it differs from others in %s',
    (_, own) => {
      const settings: PolicySettings = {
        ...NO_POLICY,
        defaults: { keys: ['*'] },
        serviceFilter: { label: 'mesh', hides: 'labelled' },
        relayService: 'kube-system/relays',
      };
      const resolver = new PolicyResolver(settings);
      const others = [service('web'), service('web', '["site"]')];
      for (const other of others) resolver.setService(other);
      const like = { ...others[1], ...own } as ServiceDescription;
      expect(resolver.setService(like)).toEqual(policyFor(like, settings));
    },
  );

  test('a Service has the policy of its own Namespace, if it is like one of another', () => {
    resolver.setNamespace('shop', { keys: '["site"]' });
    expect(resolver.setService(service('web'))).toMatchObject({ keys: ['site'] });
    expect(resolver.setService(service('web', undefined, 'other'))).toMatchObject({ keys: ['*'] });
  });

  // Which annotations have no effect depends on whether a policy applies at all.
  test('after its Namespace has changed, a Service has the policy of one that comes then', () => {
    const annotations = { 'openyurt.io/topologyKeys': 'kubernetes.io/zone', topologykeys: '["*"]' };
    const web = describeService({ namespace: 'shop', name: 'web', annotations });
    resolver.setService(web);
    for (const ofNamespace of [{ filter: 'off' }, {}, { filter: 'dry-run', keys: '["site"]' }]) {
      const changed = resolver.setNamespace('shop', ofNamespace).get('shop/web');
      expect(changed).toEqual(policyFor(web, resolver.settings, ofNamespace));
    }
  });
});
