import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import {
  type Manifest,
  PLACEHOLDER_OWNER,
  projectOf,
  ROOT,
  readManifest,
} from '../../../scripts/release/project.ts';
import { replaceRepository } from '../../../scripts/release/repository-names.ts';

const manifest = readManifest();
const project = projectOf(manifest);

function withUrl(url: string): Manifest {
  return { ...manifest, repository: { type: 'git', url } };
}

describe('projectOf()', () => {
  test('derives all names from the repository of package.json; those of images are lower-case', () => {
    const { repository, slug, image, charts } = projectOf(
      withUrl('git+https://github.com/Acme/Wrapper.git'),
    );
    expect({ repository, slug, image, charts }).toEqual({
      repository: 'https://github.com/Acme/Wrapper',
      slug: 'Acme/Wrapper',
      image: 'ghcr.io/acme/kube-proxy-wrapper',
      charts: 'ghcr.io/acme/charts',
    });
  });

  test.each(['https://github.com/acme/x', 'git+https://example.com/acme/x.git', ''])(
    'refuses %j, which npm could not compare with the provenance',
    (url) => {
      expect(() => projectOf(withUrl(url))).toThrow('package.json: repository.url is');
    },
  );
});

describe('every file names the repository of package.json', () => {
  /** What the files of the repository name, by a pattern with one group. */
  function named(pattern: RegExp): Set<string | undefined> {
    const grep = ['grep', '--untracked', '-IhoE', '-e', pattern.source];
    const args = [...grep, '--', '.', ':!scripts/release', ':!test/scripts/release'];
    const found = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
    return new Set(found.map((line) => pattern.exec(line)?.[1]));
  }

  test('package.json, alerts and documents', () => {
    const name = project.slug.split('/')[1];
    const slug = `github[.]com/([A-Za-z0-9_.-]+/(kube-proxy-wrapper|${name}))`;
    expect(named(new RegExp(slug))).toEqual(new Set([project.slug]));
  });

  test('nothing but package.json and RELEASING.md names the placeholder, which leads nowhere', () => {
    const named = `(github[.]com|ghcr[.]io)/${PLACEHOLDER_OWNER}/`;
    const others = ['package.json', 'RELEASING.md', 'scripts/release', 'src/version.ts', 'test'];
    const where = ['--', '.', ...others.map((path) => `:!${path}`)];
    const grep = ['grep', '--untracked', '-lE', named, ...where];
    expect(spawnSync('git', grep, { cwd: ROOT, encoding: 'utf8' }).stdout).toBe('');
  });

  test('and the commands that verify a release', () => {
    expect(named(/(ghcr[.]io\/[a-z0-9_.-]+)\//)).toEqual(new Set([project.registry]));
    expect(named(/--repo ([A-Za-z0-9_.-]+\/[A-Za-z0-9_.-]+)/)).toEqual(new Set([project.slug]));
  });
});

test('replaceRepository() replaces each form of the name, and no placeholder of a registry', () => {
  const from = { slug: 'example/kpw', registry: 'ghcr.io/example' };
  const to = { slug: 'Acme/wrapper', registry: 'ghcr.io/acme' };
  const text = `git+https://github.com/example/kpw.git ghcr.io/example/kpw:1 ghcr.io/example/charts
registry.example.com/kpw --repo example/kpw`;
  expect(
    replaceRepository(text, from, to),
  ).toBe(`git+https://github.com/Acme/wrapper.git ghcr.io/acme/kpw:1 ghcr.io/acme/charts
registry.example.com/kpw --repo Acme/wrapper`);
});
