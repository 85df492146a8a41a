import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../deploy/support/repository.ts';

/** What a user reads: paths from the root of the repository. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...globSync('docs/*.md', { cwd: repository }).toSorted(),
];

export function readDocument(path: string): string {
  return readFileSync(join(repository, path), 'utf8');
}

/** The page without its blocks of code. */
export function withoutCode(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(path: string): string[] {
  const headings = withoutCode(readDocument(path)).matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
