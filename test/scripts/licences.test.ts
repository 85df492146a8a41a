import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { collectLicences, packageFoldersOf } from '../../scripts/licences.ts';
import { useFolder } from '../support/use-folder.ts';

describe('packageFoldersOf()', () => {
  test('names each package once, including scoped and nested ones, and no file of the project', () => {
    const files = [
      '/p/cli/main.ts',
      '/p/node_modules/pino/lib/a.js',
      '/p/node_modules/pino/lib/b.js',
      '/p/node_modules/@kubernetes/client-node/dist/config.js',
      '/p/node_modules/follow-redirects/node_modules/ms/index.js',
    ];
    expect(packageFoldersOf(files)).toEqual([
      '/p/node_modules/@kubernetes/client-node',
      '/p/node_modules/follow-redirects/node_modules/ms',
      '/p/node_modules/pino',
    ]);
  });
});

describe('collectLicences()', () => {
  function addPackage(manifest: object, files: Readonly<Record<string, string>>): string {
    const path = useFolder();
    writeFileSync(join(path, 'package.json'), JSON.stringify(manifest));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
    return path;
  }

  test('contains name, version, licence and notice of each package', () => {
    const path = addPackage(
      { name: 'a', version: '1.2.3', license: 'Apache-2.0' },
      { LICENSE: 'the licence', NOTICE: 'the notice', 'README.md': 'more' },
    );
    const text = collectLicences([path]);
    expect(text).toContain('a 1.2.3 (Apache-2.0)\n\nthe licence\n\nthe notice\n');
    expect(text).not.toContain('more');
  });

  test('refuses a package without a licence', () => {
    const path = addPackage({ name: 'a', version: '1.0.0' }, { LICENSE: 'text' });
    expect(() => collectLicences([path])).toThrow('a has no licence');
  });
});
