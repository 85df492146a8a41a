import { expect, test } from '@jest/globals';
import { policyOrigins } from '../../../src/diagnosis/explain/policy-origins.ts';
import { NO_POLICY } from '../../support/topology/plain-topology.ts';
import { describeService } from '../../support/topology/service-description.ts';

const SETTINGS = {
  ...NO_POLICY,
  compatibility: ['openyurt'] as const,
  defaults: { keys: ['site'] },
};

test('lists all sources of keys, the one that applies first', () => {
  const annotations = { topologyKeys: 'prefer-same-node', 'openyurt.io/topologyKeys': '*' };
  expect(policyOrigins(describeService({ annotations }), SETTINGS, '["zone"]')).toEqual([
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
  const [first] = policyOrigins(
    describeService({ annotations: { topologyKeys: 'site' } }),
    SETTINGS,
  );
  expect(first).toMatchObject({ source: 'annotation', keys: [], invalid: /not JSON/ });
});
