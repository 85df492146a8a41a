import { expect, test } from '@jest/globals';
import { sectionOf } from '../../../scripts/release/changelog.ts';
import type { Manifest } from '../../../scripts/release/project.ts';
import { type ReleaseInput, releaseProblems } from '../../../scripts/release/release-problems.ts';

const manifest: Manifest = {
  name: 'kube-proxy-wrapper',
  version: '1.1.0',
  repository: { type: 'git', url: 'git+https://github.com/acme/kube-proxy-wrapper.git' },
};

const release: ReleaseInput = {
  manifest,
  changelog:
    '# Changelog\n\n## Unreleased\n\n## 1.1.0 - 2026-12-01\n\n### Added\n\n- x\n\n## 1.0.0 - …\n',
  tag: 'v1.1.0',
  slug: 'acme/kube-proxy-wrapper',
};

test('a release with a tag, a dated section and a repository has no problem', () => {
  expect(releaseProblems(release)).toEqual([]);
});

test.each<[string, Partial<ReleaseInput>, string]>([
  ['tag of another version', { tag: 'v1.1.1' }, 'The tag is v1.1.1, but package.json has'],
  [
    'version under development',
    { manifest: { ...manifest, version: '1.1.0-dev' }, tag: 'v1.1.0-dev' },
    'is a version under development',
  ],
  ['version without a section', { changelog: '## 1.1.01 - 2026-12-01\n' }, 'has no section'],
  ['section without a date', { changelog: '## 1.1.0\n' }, 'has no date'],
  ['fork', { slug: 'someone/kube-proxy-wrapper' }, 'package.json names acme/kube-proxy-wrapper'],
  [
    'placeholder of the repository',
    {
      manifest: {
        ...manifest,
        repository: { type: 'git', url: 'git+https://github.com/example/kube-proxy-wrapper.git' },
      },
    },
    'is a placeholder',
  ],
])('a %s is not published', (_, change, problem) => {
  expect(releaseProblems({ ...release, ...change }).join()).toContain(problem);
});

test('the notes of a release are its section of the changelog, up to the next one', () => {
  expect(sectionOf(release.changelog, '1.1.0')).toEqual({
    title: '1.1.0 - 2026-12-01',
    text: '### Added\n\n- x',
  });
});
