import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ROOT, readManifest } from '../../../scripts/release/project.ts';
import { replaceVersion, VERSIONED_FILES } from '../../../scripts/release/versioned-files.ts';

const { name, version } = readManifest();

test.each(VERSIONED_FILES)('%s has only the new version afterwards', (file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const replaced = replaceVersion(text, { name, version, next: '9.8.7' });
  expect(replaced).toContain('9.8.7');
  // A final version can also be that of a package: then only the next test holds.
  if (version.endsWith('-dev')) expect(replaced).not.toContain(version);
});

test('no other file names the version', () => {
  const folders = ['*.md', 'docs', 'manifests', 'charts', 'image', 'src', 'cli'];
  const grep = ['grep', '-lF', '-e', version, '--', ...folders, ':!CHANGELOG.md', ':!RELEASING.md'];
  const files = execFileSync('git', grep, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  const known: readonly string[] = VERSIONED_FILES;
  const changed = files.filter((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return replaceVersion(text, { name, version, next: '9.8.7' }) !== text;
  });
  expect(changed.filter((file) => !known.includes(file))).toEqual([]);
});

describe('replaceVersion()', () => {
  const replace = (text: string) =>
    replaceVersion(text, { name: 'kube-proxy-wrapper', version: '1.1.0', next: '1.2.0-dev' });

  test.each([
    'newTag: ',
    '**Status**: ',
    '\nversion: ',
    '\nappVersion: ',
    '\nversion ',
    'kube-proxy-wrapper:',
    'kube-proxy-wrapper-',
    '"name": "kube-proxy-wrapper",\n  "version": "',
  ])('replaces it after %j', (before) => {
    expect(replace(`${before}1.1.0\n`)).toBe(`${before}1.2.0-dev\n`);
  });

  test.each(['"name": "debug",\n  "version": "1.1.0"', 'kube-proxy-wrapper:1.1.0-rc.1', 'a 1.1.0'])(
    'leaves %j alone',
    (text) => {
      expect(replace(text)).toBe(text);
    },
  );
});
