import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { CHART_COPIES } from '../../scripts/chart-copies.ts';
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

test.each(Object.entries(CHART_COPIES))(
  "the chart's copy of %s is current; if not: npm run settings",
  (file, copy) => {
    expect(read(`charts/kube-proxy-wrapper/${copy}`)).toBe(read(file));
  },
);

test('every setting has a description', () => {
  expect(settingRows().filter(({ meaning }) => !/\.$/.test(meaning))).toEqual([]);
});

test('the table of the README has a few settings, each with its flag and default', () => {
  const [, section = ''] = /\n## Settings\n([\s\S]*?)\n## /.exec(read('README.md')) ?? [];
  const rows = [...section.matchAll(/^\| `(\S+)` *\| (.*?) *\| (.*?) *\|/gm)];
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.length).toBeLessThanOrEqual(12);
  const settings = new Map(settingRows().map((row) => [row.key, row]));
  for (const [, key = '', flag, value] of rows) {
    const setting = settings.get(key);
    // Without a kubeconfig the wrapper uses its service account.
    const expected = key === 'kubeconfig' ? 'in-cluster' : setting?.default;
    expect([key, flag, value]).toEqual([key, setting?.flag, expected]);
  }
});

test.each([
  ['listen', { flag: '`--listen`', type: 'string', default: '`127.0.0.1:10360`' }],
  ['handoverSeconds', { type: 'integer', unit: 's', bounds: '≥ 0' }],
  ['cloud.mode', { type: '`endpoints`, `passthrough`', default: '`endpoints`' }],
  ['stateDir', { type: 'string', default: 'none' }],
])('%s is described as %j', (key, expected) => {
  expect(settingRows().find((row) => row.key === key)).toMatchObject(expected);
});

// Each setting is one more that an operator of 300 nodes has to judge.
test('there are at most 40 settings', () => {
  expect(settingRows().filter(({ type }) => type !== 'mapping').length).toBeLessThanOrEqual(40);
});
