import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { complete } from '../../cli/command-line/completion.ts';
import { KUBECTL_KPW } from '../../cli/definitions/remote.ts';

/** The words that may come next, and what the shell does besides. */
function completions(...words: string[]): string {
  const lines = complete(KUBECTL_KPW, words).trimEnd().split('\n');
  return lines.map((line) => line.split('\t')[0]).join(' ');
}

test.each<[string[], string]>([
  [[''], 'status explain simulate version :4'],
  [['s'], 'status simulate :4'],
  [['status', '--al'], '--all-nodes :4'],
  [['status', '-'], expect.stringMatching(/--watch -w .*:4$/) as unknown as string],
  [['status', '-o', ''], 'text json yaml :4'],
  [['status', '--output', 'j'], 'json :4'],
  [['explain', 'web', '--output=w'], 'wide :4'],
  // The shell completes names of files.
  [['status', '--kubeconfig', ''], ':0'],
  [['simulate', '-f', 'clus'], ':0'],
  // Names of nodes and Services are those of a cluster, which is not read.
  [['status', '--node', ''], ':4'],
  [['explain', ''], ':4'],
  // A flag without a value has none to complete.
  [['status', '--watch', ''], ':4'],
  [['unknown', '-'], ':4'],
])('kubectl kpw %j may go on with %s', (words, expected) => {
  expect(completions(...words)).toEqual(expected);
});

test('no flag that was removed is offered', () => {
  expect(completions('status', '--con')).toBe('--context :4');
});

test('each word has a description on one line, as kubectl reads it', () => {
  const program = resolve(import.meta.dirname, '../../cli/kubectl-complete-kpw.ts');
  const printed = execFileSync(process.execPath, [program, 'e'], { encoding: 'utf8' });
  expect(printed).toBe('explain\texplain what a node, or each node, sees of each Service\n:4\n');
});
