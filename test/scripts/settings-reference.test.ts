import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import {
  chartSettingsSchema,
  settingRows,
  settingsMarkdown,
} from '../../scripts/settings-reference.ts';

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

test('docs/settings.md is current; if not: npm run settings', () => {
  expect(read('docs/settings.md')).toBe(settingsMarkdown());
});

test("the chart's schema of values is current; if not: npm run settings", () => {
  const schema = JSON.parse(read('charts/kube-proxy-wrapper/values.schema.json'));
  expect(schema.properties.settings).toEqual(chartSettingsSchema());
});

test('every setting says what it means', () => {
  expect(settingRows().filter(({ meaning }) => !/\.$/.test(meaning))).toEqual([]);
});

test('the table of the README has every setting, with its flag and default', () => {
  const [, table = ''] = /\n## Settings\n([\s\S]*?)\n## /.exec(read('README.md')) ?? [];
  const told = new Map(
    [...table.matchAll(/^\| `(\S+)` +\| (.*?) +\| (.*?) +\|/gm)].map(([, key, flag, value]) => [
      key,
      [flag, value],
    ]),
  );
  for (const { key, flag, default: value, type } of settingRows()) {
    // A mapping is told by what is in it, but for https, which a document of its own is about.
    if (type === 'mapping' || key.startsWith('https.')) continue;
    const isOptional = key === 'serviceFilter.mode';
    const expected = key === 'kubeconfig' ? 'in-cluster' : isOptional ? 'none' : value;
    expect([key, told.get(key)]).toEqual([key, [flag, expected]]);
  }
});

test.each([
  ['listen', { flag: '`--listen`', type: 'string', default: '`127.0.0.1:10360`' }],
  ['nodeName', { default: 'required' }],
  ['maxListBytes', { type: 'integer', unit: 'bytes', bounds: '≥ 1', default: '67108864' }],
  ['stateWriteBytesPerSecond', { unit: 'bytes/s' }],
  ['returnDelaySeconds', { type: 'number', unit: 's', bounds: '≥ 0, ≤ 86400' }],
  ['cloud.mode', { type: '`endpoints`, `passthrough`', default: '`endpoints`' }],
  ['servers', { type: 'list of string', bounds: 'at most 16', default: '`[]`' }],
  ['minReady', { type: 'mapping to integer', default: '`{}`' }],
  ['https.selfSigned.keyFile', { type: 'string', default: 'none' }],
])('%s is told as %j', (key, expected) => {
  expect(settingRows().find((row) => row.key === key)).toMatchObject(expected);
});
