import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { chartSettingsSchema } from '../../scripts/settings-reference.ts';
import { listenersOptions } from '../../src/config/listener-options.ts';
import { nodeProxyOptions } from '../../src/config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../../src/config/settings.ts';

/** Without these some settings have no effect. */
const BASE: RawSettings = { nodeName: 'edge-1', stateDir: '/var/lib/state' };

/** Another value of each setting. */
const OTHERS: RawSettings = {
  nodeName: 'edge-2',
  servers: ['https://192.0.2.2:6443'],
  relays: { service: 'kube-system/relay', caFile: '/ca.crt' },
  listen: '127.0.0.1:1',
  https: { listen: '127.0.0.1:2', certFile: '/tls.crt', keyFile: '/tls.key' },
  adminListen: '127.0.0.1:3',
  defaultTopologyKeys: ['site'],
  allowedTopologyKeys: ['site'],
  namespacePolicies: true,
  compatibility: ['openyurt'],
  headless: true,
  communities: { nodeLabels: ['community'] },
  edge: { labelSelector: 'edge' },
  cloud: { mode: 'passthrough' },
  serviceFilter: { mode: 'FilterIfLabelExists' },
  dryRun: true,
  minReady: { site: 2 },
  maxViews: 1,
  maxViewBytes: 1,
  maxNodeSets: 1,
  maxListBytes: 1,
  maxConnections: 1,
  stateDir: '/other',
  stateMaxBytes: 1,
  localRuntime: '/run/containerd.sock',
};

/** Those that src/run reads itself. */
const READ_BY_RUN = ['kubeconfig', 'logLevel', 'handoverSeconds'];

/** All that is made of settings, except the revision, which each of them changes. */
function optionsOf(other: RawSettings): string {
  const settings = loadSettings({ ...BASE, ...other }, {}, undefined);
  const options = { ...nodeProxyOptions(settings), settingsRevision: undefined };
  return inspect([options, listenersOptions(settings)], { depth: Number.POSITIVE_INFINITY });
}

test('each setting has another value here, or is read by src/run', () => {
  const known = [...Object.keys(OTHERS), ...READ_BY_RUN].sort();
  // The chart's schema has no nodeName.
  const all = ['nodeName', ...Object.keys(chartSettingsSchema().properties ?? {})].sort();
  expect(known).toEqual(all);
});

test.each(Object.entries(OTHERS))('%s reaches the options of the wrapper', (key, value) => {
  expect(optionsOf({ [key]: value })).not.toBe(optionsOf({}));
});
