/**
 * Writes the files that are generated: docs/settings.md, the chart's values.schema.json, and the chart's copies.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CHART_COPIES } from './chart-copies.ts';
import { chartSettingsSchema, settingsMarkdown } from './settings-reference.ts';

const root = resolve(import.meta.dirname, '..');
writeFileSync(join(root, 'docs/settings.md'), settingsMarkdown());

const file = join(root, 'charts/kube-proxy-wrapper/values.schema.json');
const schema = JSON.parse(readFileSync(file, 'utf8'));
schema.properties.settings = chartSettingsSchema();
writeFileSync(file, `${JSON.stringify(schema, undefined, 2)}\n`);

for (const [from, to] of Object.entries(CHART_COPIES)) {
  copyFileSync(join(root, from), join(root, 'charts/kube-proxy-wrapper', to));
}
