import { describe, expect, test } from '@jest/globals';
import { nodeProxyOptions } from '../../src/config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../../src/config/settings.ts';

const HOST = 'kubernetes.io/hostname';

function load(raw: RawSettings) {
  return loadSettings({ nodeName: 'n', ...raw }, {}, undefined);
}

function options(raw: RawSettings) {
  return nodeProxyOptions(load(raw));
}

describe('settings of policies', () => {
  test('the default is an array of keys or a preset', () => {
    expect(load({ defaultTopologyKeys: ['site', '*'] }).defaultTopologyKeys).toEqual({
      keys: ['site', '*'],
    });
    expect(load({ defaultTopologyKeys: 'fab-proxy' }).defaultTopologyKeys).toEqual({
      keys: [HOST, 'kube-proxy-wrapper.io/cloud'],
      edgeOnly: true,
    });
  });

  test('each setting reaches its option', () => {
    const { policies, topologyMatch, ...others } = options({
      compatibility: ['openyurt'],
      headless: true,
      namespacePolicies: true,
      communities: {
        nodeLabels: ['pool'],
        labelPrefix: '',
        labelValues: ['unit'],
        fabedgeCluster: 'c',
      },
      edge: { labelSelector: 'role=edge' },
      cloud: { mode: 'passthrough' },
      minReady: { [HOST]: 2, '*': 3 },
    });
    expect(policies).toMatchObject({
      compatibility: ['openyurt'],
      headless: true,
    });
    expect([...policies.minReady]).toEqual([
      [HOST, 2],
      ['*', 3],
    ]);
    expect(topologyMatch.communities).toMatchObject({ nodeLabels: ['pool'], labelPrefix: '' });
    expect(topologyMatch.edge).toMatchObject([{ key: 'role', operator: 'in', values: ['edge'] }]);
    expect(others).toMatchObject({
      namespacePolicies: true,
      fabedgeCluster: 'c',
      withholdsServices: true,
    });
  });

  test.each([
    ['FilterIfLabelExists', 'unlabelled'],
    ['FilterIfLabelDoesNotExists', 'labelled'],
  ])('EdgeMesh’s %s hides what is %s from kube-proxy', (mode, hides) => {
    const label = 'service.edgemesh.kubeedge.io/service-proxy-name';
    expect(options({ serviceFilter: { mode } }).policies.serviceFilter).toEqual({ label, hides });
    expect(options({ serviceFilter: { mode, label: 'x' } }).policies.serviceFilter).toEqual({
      label: 'x',
      hides,
    });
  });
});
