import { expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { DOCUMENTS, readDocument } from '../../harness/deploy/documents.ts';
import { settingRows } from '../../scripts/settings-reference.ts';
import { loadSettings } from '../../src/config/settings.ts';

const settings = new Set(settingRows().map(({ key }) => key.split('.')[0]));

/** Blocks of YAML with at least one setting at their root. Others are objects of Kubernetes, and parts of these. */
const examples = DOCUMENTS.flatMap((page) =>
  [...readDocument(page).matchAll(/^ *```yaml\n([\s\S]*?)^ *```$/gm)].flatMap(([, block = '']) => {
    const parsed = load(block) as Record<string, unknown>;
    return Object.keys(parsed).some((key) => settings.has(key)) ? [[page, parsed] as const] : [];
  }),
);

test('the documents have examples of settings', () => {
  expect(examples.length).toBeGreaterThan(7);
});

test.each(examples)('the wrapper accepts the settings of %s: %j', (_page, example) => {
  expect(() => loadSettings({ nodeName: 'edge-1', ...example }, {}, undefined)).not.toThrow();
});
