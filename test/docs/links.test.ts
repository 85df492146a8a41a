import { existsSync, globSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from '@jest/globals';
import { anchorsOf, DOCUMENTS, readDocument, withoutCode } from '../../harness/deploy/documents.ts';
import { repository } from '../../harness/deploy/repository.ts';

/** All documents that link to one another. */
const LINKING = [
  ...DOCUMENTS,
  ...['CHANGELOG.md', 'GOVERNANCE.md', 'RELEASING.md', 'CODE_OF_CONDUCT.md'],
  ...globSync('{bench,manifests,test/**}/*.md', { cwd: repository }),
];

/** Links, pictures and HTML attributes that lead to a file of the repository or to a heading. */
function linksOf(path: string): string[] {
  const text = withoutCode(readDocument(path)).replaceAll(/`[^`\n]+`/g, '');
  const found = text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g);
  return Array.from(found, ([, link, attribute]) => link ?? attribute ?? '').filter(
    (link) => !/^[a-z]+:/.test(link),
  );
}

function isDead(path: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : normalize(join(dirname(path), file));
  if (!existsSync(join(repository, target))) return true;
  return anchor !== undefined && !(target.endsWith('.md') && anchorsOf(target).includes(anchor));
}

test.each(LINKING)('%s has no dead link', (path) => {
  expect(linksOf(path).filter((link) => isDead(path, link))).toEqual([]);
});

test('the documents link to headings', () => {
  expect(DOCUMENTS.flatMap(linksOf).filter((link) => link.includes('#')).length).toBeGreaterThan(
    20,
  );
});

// A page that nobody links to is not found.
test.each(DOCUMENTS)('%s can be reached from README.md', (page) => {
  const reached = new Set(['README.md']);
  for (const path of reached) {
    for (const link of linksOf(path)) {
      const target = normalize(join(dirname(path), link.split('#')[0] || '.'));
      if (DOCUMENTS.includes(target)) reached.add(target);
    }
  }
  expect([...reached]).toContain(page);
});
