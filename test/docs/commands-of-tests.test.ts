import { globSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { documentedCommands } from '../../harness/deploy/documents.ts';
import { readText, repository } from '../../harness/deploy/repository.ts';

/** Tests on real kubelets, which take minutes. They run blocks of commands of the documents. */
const FILES = globSync('test/real/cluster/**/*.test.ts', { cwd: repository }).toSorted();

interface Block {
  readonly section: string;
  readonly beginning: string;
}

/** The blocks that a file runs: by section and beginning, or by a function of its own for one section. */
function blocksOf(file: string): Block[] {
  const source = readText(file);
  const text = source.replaceAll(/\b[A-Z_]+\b/g, (name) => {
    return new RegExp(`^const ${name} = ('[^']+');`, 'm').exec(source)?.[1] ?? name;
  });
  const uses = [
    ...text.matchAll(/\.(?:runD|d)ocumented\(\s*'([^']+)',\s*(?:'([^']+)'|beginning\b)/g),
  ];
  // Each of them can be read.
  expect(uses).toHaveLength(text.split(/\.(?:runD|d)ocumented\(/).length - 1);
  const blocks: Block[] = [];
  for (const { 1: section = '', 2: beginning, index } of uses) {
    if (beginning !== undefined) {
      blocks.push({ section, beginning });
      continue;
    }
    const [, name = ''] = /const (\w+) =(?![\s\S]*const \w+ =)/.exec(text.slice(0, index)) ?? [];
    // Until the next function of that name.
    const [scope = ''] = text.slice(index).split(`const ${name} =`);
    const calls = [...scope.matchAll(new RegExp(`\\b${name}\\(\\s*'([^']+)'`, 'g'))];
    expect(calls).toHaveLength(scope.split(new RegExp(`\\b${name}\\(`)).length - 1);
    blocks.push(...calls.map(([, call = '']) => ({ section, beginning: call })));
  }
  return blocks;
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
