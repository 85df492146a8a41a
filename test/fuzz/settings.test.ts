import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { loadSettings } from '../../src/config/settings.ts';
import { WrapperError } from '../../src/errors.ts';
import { budget, FUZZ_TIMEOUT_MS } from './budget.ts';
import { mutate, mutations } from './mutate.ts';
import { useTemporaryFile } from './temporary-file.ts';

const file = useTemporaryFile('settings.yaml');

/** Loads a settings file. It must give settings or InvalidSettings. */
function expectSettingsOrReason(content: string | Uint8Array): void {
  writeFileSync(file, content);
  try {
    const settings = loadSettings({ nodeName: 'edge-1' }, {}, file);
    expect(settings.nodeName).toBe('edge-1');
    expect(settings.maxViews).toBeGreaterThan(0);
  } catch (error) {
    if (!(error instanceof WrapperError)) throw error;
    expect(error.code).toBe('InvalidSettings');
  }
}

const EXAMPLE = `listen: 127.0.0.1:10360
https: { listen: '0.0.0.0:10362', certificate: { certFile: a, keyFile: b } }
defaultTopologyKeys: [kubernetes.io/hostname, '*']
communities: { nodeLabels: [site], labelValues: [b] }
edge: { labelSelector: 'a in (b, c),!d' }
serviceFilter: { mode: FilterIfLabelExists }
minReady: { '*': 2 }
maxViews: 10
`;

describe('loadSettings() returns settings or throws InvalidSettings', () => {
  test(
    'for random values of known and unknown keys',
    () => {
      const keys = [...EXAMPLE.matchAll(/[a-zA-Z]+(?=:)/g)].map(([key]) => key);
      const known = Object.keys(loadSettings({ nodeName: 'a' }, {}, undefined));
      const key = fc.oneof(fc.constantFrom(...known, ...keys), fc.string({ maxLength: 8 }));
      const { tree } = fc.letrec<{ tree: unknown; leaf: unknown }>((tie) => ({
        leaf: fc.oneof(
          fc.string({ maxLength: 12 }),
          fc.double(),
          fc.integer(),
          fc.boolean(),
          fc.constantFrom(null, 'none', '127.0.0.1:0', '[::1]:1', 'fab-proxy-community', '*'),
        ),
        tree: fc.oneof(
          { maxDepth: 3 },
          tie('leaf'),
          fc.array(tie('tree'), { maxLength: 3 }),
          fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
        ),
      }));
      const property = fc.property(fc.dictionary(key, tree, { maxKeys: 5 }), (settings) => {
        expectSettingsOrReason(dump(settings));
      });
      fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'for damaged files',
    () => {
      const examples = [Buffer.from(EXAMPLE), readFileSync(`${import.meta.dirname}/budget.ts`)];
      const property = fc.property(fc.constantFrom(...examples), mutations, (text, damage) =>
        expectSettingsOrReason(mutate(text, damage)),
      );
      fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );
});
