import { expect, test } from '@jest/globals';
import { loadSettings, type RawSettings } from '../../src/config/settings.ts';
import { settingsRevision } from '../../src/config/settings-revision.ts';

function revisionOf(raw: RawSettings): string {
  return settingsRevision(loadSettings({ nodeName: 'edge-1', ...raw }, {}, undefined));
}

const PLAIN = revisionOf({});

test.each([
  ['the node', { nodeName: 'edge-2' }],
  ['a default that is given', { dryRun: false }],
])('%s does not change the revision', (_what, raw: RawSettings) => {
  expect(revisionOf(raw)).toBe(PLAIN);
});

test.each<RawSettings>([
  { dryRun: true },
  { minReady: { rack: 2 } },
  { edge: { labelSelector: 'edge=yes' } },
  { servers: ['https://192.0.2.1:6443'] },
  { defaultTopologyKeys: ['rack', '*'] },
])('%j changes the revision', (raw) => {
  expect(revisionOf(raw)).not.toBe(PLAIN);
});

// status once said "still runs" of a node whose ConfigMap was only written in another order.
test('the order of keys does not change the revision, the order of lists does', () => {
  const counts = { rack: 2, zone: 3, '*': 1 };
  const others = { '*': 1, zone: 3, rack: 2 };
  expect(revisionOf({ minReady: others })).toBe(revisionOf({ minReady: counts }));
  const keys = ['rack', 'zone'];
  const turned = keys.toReversed();
  expect(revisionOf({ defaultTopologyKeys: turned })).not.toBe(
    revisionOf({ defaultTopologyKeys: keys }),
  );
});
