import { expect, test } from '@jest/globals';
import { compareSettings } from '../../src/config/reload.ts';
import { loadSettings, type RawSettings, readSettings } from '../../src/config/settings.ts';

const settings = (raw: RawSettings) => loadSettings({ nodeName: 'edge-1', ...raw }, {}, undefined);

test.each<[string, RawSettings]>([
  ['logLevel', { logLevel: 'debug' }],
  ['defaultTopologyKeys', { defaultTopologyKeys: ['kubernetes.io/hostname', '*'] }],
  ['allowedTopologyKeys', { allowedTopologyKeys: ['example.com/*'] }],
  ['compatibility', { compatibility: ['openyurt'] }],
  ['minReady', { minReady: { 'kubernetes.io/hostname': 2 } }],
  ['returnDelaySeconds', { returnDelaySeconds: 5 }],
  ['dryRun', { dryRun: true }],
])('%s takes effect without a restart', (name, raw) => {
  const { reloaded, needRestart, next } = compareSettings(settings({}), settings(raw));
  expect({ reloaded, needRestart }).toEqual({ reloaded: [name], needRestart: [] });
  expect(next).toEqual(settings(raw));
});

test.each<[string, RawSettings]>([
  ['nodeName', { nodeName: 'edge-2' }],
  ['listen', { listen: '127.0.0.1:1' }],
  ['headless', { headless: true }],
  ['edge', { edge: { labelSelector: 'role=edge' } }],
  ['stateDir', { stateDir: '/x' }],
  ['maxViews', { maxViews: 3 }],
])('%s takes effect after a restart, and the old value remains in use', (name, raw) => {
  const { reloaded, needRestart, next } = compareSettings(settings({}), settings(raw));
  expect({ reloaded, needRestart }).toEqual({ reloaded: [], needRestart: [name] });
  expect(next).toEqual(settings({}));
});

test.each<RawSettings>([
  { cloud: { mode: 'passthrough' } },
  { serviceFilter: { mode: 'FilterIfLabelExists' } },
])('dryRun needs a restart if Services can be hidden: %j', (raw) => {
  const { needRestart } = compareSettings(settings(raw), settings({ ...raw, dryRun: true }));
  expect(needRestart).toEqual(['dryRun']);
});

test('settings that are written differently but mean the same are no change', () => {
  const change = compareSettings(settings({}), settings({ logLevel: 'info', minReady: {} }));
  expect(change).toMatchObject({ reloaded: [], needRestart: [] });
});

test('readSettings() returns what differs from the defaults, as it was given', () => {
  const given = { nodeName: 'edge-1', logLevel: 'info', listen: '127.0.0.1:99', dryRun: true };
  expect(readSettings(given, {}, undefined).changed).toEqual({
    listen: '127.0.0.1:99',
    dryRun: true,
  });
});
