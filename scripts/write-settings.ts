/**
 * Writes the files that are generated: docs/settings.md, the chart's values.schema.json, and the chart's copies of the
 * alerts, the dashboard and the admission policy, because helm reads only files of the chart.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chartSettingsSchema, settingsMarkdown } from './settings-reference.ts';

const root = resolve(import.meta.dirname, '..');
writeFileSync(join(root, 'docs/settings.md'), settingsMarkdown());

const file = join(root, 'charts/kube-proxy-wrapper/values.schema.json');
const schema = JSON.parse(readFileSync(file, 'utf8'));
schema.properties.settings = chartSettingsSchema();
writeFileSync(file, `${JSON.stringify(schema, undefined, 2)}\n`);

const COPIES = {
  'manifests/monitoring/alerts.yaml': 'monitoring/alerts.yaml',
  'manifests/monitoring/dashboard.json': 'monitoring/dashboard.json',
  'manifests/components/admission-policy/policy.yaml': 'admission-policy/policy.yaml',
};
for (const [from, to] of Object.entries(COPIES)) {
  copyFileSync(join(root, from), join(root, 'charts/kube-proxy-wrapper', to));
}
