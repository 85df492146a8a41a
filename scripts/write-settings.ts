/** Writes the files that are generated from the settings: docs/settings.md and the chart's values.schema.json. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chartSettingsSchema, settingsMarkdown } from './settings-reference.ts';

const root = resolve(import.meta.dirname, '..');
writeFileSync(join(root, 'docs/settings.md'), settingsMarkdown());

const file = join(root, 'charts/kube-proxy-wrapper/values.schema.json');
const schema = JSON.parse(readFileSync(file, 'utf8'));
schema.properties.settings = chartSettingsSchema();
writeFileSync(file, `${JSON.stringify(schema, undefined, 2)}\n`);
