import type { Option } from 'commander';
import type { Program } from './command.ts';

/** What the shell does besides: nothing, or it completes names of files (ShellCompDirective of cobra). */
const NO_FILES = ':4';
const FILES = ':0';

/**
 * What may come next on a command line, in the form that kubectl reads from kubectl_complete-<plugin>: a word on each
 * line, with a description after a tab, and a directive for the shell. All of it is from the table of commands.
 *
 * @param words the words so far; the last one is to be completed, and may be empty
 */
export function complete({ commands }: Program, words: readonly string[]): string {
  const typed = words.at(-1) ?? '';
  const command = commands.find(({ name }) => name === words[0]);
  if (words.length < 2)
    return answer(
      typed,
      commands.map(({ name, summary }) => [name, summary]),
    );
  if (command === undefined) return answer(typed, []);
  const flags = command.flags.filter(({ hidden }) => !hidden);
  const [name = '', value] = typed.split('=', 2);
  const valued = flagNamed(flags, value === undefined ? words.at(-2) : name);
  if (valued?.required) return valuesOf(valued, value ?? typed);
  if (!typed.startsWith('-')) return answer(typed, []);
  return answer(
    typed,
    flags.flatMap(({ long, short, description }) =>
      [long, short].flatMap((each) => (each ? [[each, description] as const] : [])),
    ),
  );
}

function flagNamed(flags: readonly Option[], name: string | undefined): Option | undefined {
  return flags.find(({ long, short }) => name !== undefined && [long, short].includes(name));
}

function valuesOf({ argChoices, flags }: Option, typed: string): string {
  if (flags.endsWith('<FILE>')) return `${FILES}\n`;
  return answer(typed, argChoices?.map((choice) => [choice, '']) ?? []);
}

function answer(typed: string, all: readonly (readonly [word: string, about: string])[]): string {
  const lines = all
    .filter(([word]) => word.startsWith(typed))
    .map(([word, about]) => (about === '' ? word : `${word}\t${about.replaceAll('\n', ' ')}`));
  return [...lines, NO_FILES, ''].join('\n');
}
