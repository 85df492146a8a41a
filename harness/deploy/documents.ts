import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './repository.ts';

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

/** The anchors of a page's headings. */
export function anchorsOf(path: string): string[] {
  return Array.from(withoutCode(readDocument(path)).matchAll(/^#+ .+$/gm), ([line]) =>
    anchorOf(line),
  );
}

/** The anchor of a heading at the start of a text, as GitHub makes it. */
function anchorOf(text: string): string {
  const [, heading = ''] = /^#+ (.+)/.exec(text) ?? [];
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** A heading of that anchor with all below it, up to the next heading of its level or of a higher one. */
export function sectionOf(path: string, anchor: string): string {
  const parts = partsOf(path);
  const [start = -1] = parts.flatMap((part, index) => (anchorOf(part) === anchor ? [index] : []));
  if (start < 0) throw new Error(`${path} has no heading #${anchor}`);
  const level = levelOf(parts[start]);
  const next = parts.findIndex((part, index) => index > start && levelOf(part) <= level);
  return parts.slice(start, next < 0 ? undefined : next).join('');
}

function levelOf(part = ''): number {
  return /^#*/.exec(part)?.[0].length ?? 0;
}

/** A page, divided before its headings. A line of a block of code that begins with # is none. */
function partsOf(path: string): string[] {
  const hidden = '\0#';
  const hideComments = (code: string) => code.replaceAll(/^#/gm, hidden);
  return readDocument(path)
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, hideComments)
    .split(/^(?=#+ )/m)
    .map((part) => part.replaceAll(hidden, '#'));
}

/** The blocks of shell commands in a section of the documents, by the heading. */
function blocksOf(section: string): string[] {
  const anchor = section.toLowerCase().replaceAll(' ', '-');
  const [page, another] = DOCUMENTS.filter((path) => anchorsOf(path).includes(anchor));
  if (page === undefined || another !== undefined) {
    throw new Error(`the documents have no section ${section}, or several`);
  }
  const found = sectionOf(page, anchor);
  return [...found.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, commands = '']) => commands);
}

/** The one block of a section of the documents, by its heading, that begins with this command. Throws without one. */
export function documentedCommands(section: string, beginning: string): string {
  const found = blocksOf(section).filter((block) => block.trimStart().startsWith(beginning));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${found.length} blocks of section ${section} begin with ${beginning}`);
  }
  return only;
}
