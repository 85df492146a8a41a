import { expect, test } from '@jest/globals';
import { policyOrigins } from '../../../src/topology/explain/policy-origins.ts';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import {
  DRY_RUN,
  FILTER_ANNOTATION,
  policyFor,
  type ServiceDescription,
} from '../../../src/topology/policy/service-policy.ts';
import { NO_POLICY } from '../../support/projection/topology.ts';

function service(annotations: Readonly<Record<string, string>>): ServiceDescription {
  return {
    namespace: 'shop',
    name: 'web',
    labels: new Map(),
    annotations: new Map(Object.entries(annotations)),
    headless: false,
    internalLocal: false,
    externalLocal: false,
  };
}

const SETTINGS = {
  ...NO_POLICY,
  compatibility: ['openyurt'] as const,
  defaults: { keys: ['site'] },
};

test('lists all sources of keys, the one that applies first', () => {
  const annotations = { topologyKeys: 'prefer-same-node', 'openyurt.io/topologyKeys': '*' };
  expect(policyOrigins(service(annotations), SETTINGS, '["zone"]')).toEqual([
    {
      source: 'annotation',
      preset: 'prefer-same-node',
      keys: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone', '*'],
    },
    { source: 'openyurt', keys: ['*'] },
    { source: 'namespace', keys: ['zone'] },
    { source: 'default', keys: ['site'] },
  ]);
});

test('an invalid source has the error message and no keys', () => {
  const [first] = policyOrigins(service({ topologyKeys: 'site' }), SETTINGS);
  expect(first).toMatchObject({ source: 'annotation', keys: [], invalid: /not JSON/ });
});

test.each([
  ['the Service', service({ [FILTER_ANNOTATION]: DRY_RUN }), {}, false, true],
  ['its Namespace', service({}), { filter: DRY_RUN }, false, true],
  ['the settings', service({}), {}, true, true],
  [
    'none of them: the Service overrides its Namespace',
    service({ [FILTER_ANNOTATION]: 'on' }),
    { filter: DRY_RUN },
    false,
    undefined,
  ],
])('a dry run set by %s', (_, description, namespace, dryRun, expected) => {
  const policy = policyFor(description, { ...SETTINGS, dryRun }, namespace);
  expect(policy).toMatchObject({ managed: true, keys: ['site'] });
  expect(policy.dryRun).toBe(expected);
});

test('Services follow when the annotation of their Namespace changes', () => {
  const resolver = new PolicyResolver(SETTINGS);
  expect(resolver.setService(service({})).dryRun).toBeUndefined();
  const changes = resolver.setNamespace('shop', { filter: DRY_RUN });
  expect(changes.get('shop/web')).toMatchObject({ managed: true, dryRun: true });
  expect(resolver.setNamespace('shop', { filter: DRY_RUN }).size).toBe(0);
  expect(resolver.setNamespace('shop', {}).get('shop/web')?.dryRun).toBeUndefined();
});

test.each(['dryrun', 'Off', 'false', ''])(
  'the filter %j is invalid: it is reported, and the Service is not filtered',
  (filter) => {
    const message = expect.stringContaining('write off, dry-run or on');
    const invalid = { managed: false, reason: 'invalid-policy', message };
    expect(policyFor(service({ [FILTER_ANNOTATION]: filter }), SETTINGS)).toEqual(invalid);
    const ofNamespace = { ...invalid, ofNamespace: true };
    expect(policyFor(service({}), SETTINGS, { filter })).toEqual(ofNamespace);
  },
);

test('space around the filter is ignored', () => {
  const policy = policyFor(service({ [FILTER_ANNOTATION]: ' dry-run\n' }), SETTINGS);
  expect(policy).toMatchObject({ managed: true, dryRun: true });
});

test('a Namespace switches filtering off', () => {
  expect(policyFor(service({}), SETTINGS, { filter: 'off' })).toMatchObject({
    reason: 'service-off',
  });
});
