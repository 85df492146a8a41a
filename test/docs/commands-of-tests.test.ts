import { globSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { documentedCommands } from '../../harness/deploy/documents.ts';
import { readText, repository } from '../../harness/deploy/repository.ts';

/** Blocks of the documents that tests on real kubelets run, which take minutes. */
const FILES = globSync('test/real/cluster/**/*.test.ts', { cwd: repository }).toSorted();

/** The sections that a file names, and the beginnings of their blocks, also where the section is given elsewhere. */
function blocksOf(file: string): { readonly section: string; readonly beginning: string }[] {
  const text = readText(file).replaceAll(/\b[A-Z_]+\b/g, (name) => {
    const [, value] = new RegExp(`^const ${name} = ('[^']+');`, 'm').exec(readText(file)) ?? [];
    return value ?? name;
  });
  const calls = text.matchAll(/[dD]ocumented\(\s*'([^']+)'(?:,\s*(?:'([^']+)'|beginning))?/g);
  const found = [...calls].map(([call, first = '', beginning]) => ({ call, first, beginning }));
  const named = ({ call, beginning }: (typeof found)[number]) =>
    beginning !== undefined || call.endsWith('beginning');
  const sections = found.filter(named).map(({ first }) => first);
  return found.flatMap((each) => {
    if (each.beginning !== undefined) return { section: each.first, beginning: each.beginning };
    return named(each) ? [] : { section: sectionWith(each.first, sections), beginning: each.first };
  });
}

/** The section that has the block; the first one if none has. */
function sectionWith(beginning: string, [first = '', ...others]: readonly string[]): string {
  const has = (section: string): boolean => {
    try {
      return documentedCommands(section, beginning) !== '';
    } catch {
      return false;
    }
  };
  return [first, ...others].find(has) ?? first;
}

const blocks = FILES.flatMap((file) => blocksOf(file).map((block) => ({ file, ...block })));

test('the files run blocks of the documents', () => {
  expect(blocks.length).toBeGreaterThan(40);
});

test.each(blocks)('$file: "$section" has $beginning', ({ section, beginning }) => {
  expect(documentedCommands(section, beginning)).toContain(beginning);
});

const notes = FILES.flatMap((file) =>
  Array.from(readText(file).matchAll(/upgradeNote\(\s*'([^']+)'/g), ([, command = '']) => command),
);

test.each(notes)('the changelog has %s', (command) => {
  expect(readText('CHANGELOG.md')).toContain(`\`${command}`);
});
