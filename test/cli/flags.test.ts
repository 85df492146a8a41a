import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { Command } from '../../cli/command-line/command.ts';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import { KUBECTL_KPW } from '../../cli/definitions/remote.ts';
import { settingsSchema } from '../../src/config/settings-schema.ts';

const PROGRAMS = [KUBE_PROXY_WRAPPER, KUBECTL_KPW];

/** A text, or an array in one line: ['demo', '--once']. */
const LITERAL = /'[^'\n]*'|"[^"\n]*"|`[^`\n]*`|\[[^[\]\n]*\]/g;

/** The words of each command line of a test. A template with ${line} gives its words to all lines of its table. */
function linesOf(text: string): Set<string>[] {
  return text.split(/^ *(?=test\b)/m).flatMap((block) => {
    const literals = [...block.matchAll(LITERAL)].map(([literal]) => literal);
    const given = literals.filter((literal) => /\$\{line\}/.test(literal)).join(' ');
    return literals.map((literal) => new Set(`${literal} ${given}`.split(/[\s'"`=,[\]]+/)));
  });
}

/** Command lines with the program that takes them. Tests of completion, parsing and formats execute none. */
const LINES = globSync('test/**/*.test.ts', {
  exclude: ['test/cli/{flags,completion,parse,output}.test.ts'],
}).flatMap((file) => {
  const text = readFileSync(file, 'utf8');
  const isRemote = file.startsWith('test/cli/remote/') || text.includes('KUBECTL_KPW');
  const isLocal = !isRemote || text.includes('KUBE_PROXY_WRAPPER');
  return linesOf(text).map((words) => ({
    words,
    programs: [...(isLocal ? [KUBE_PROXY_WRAPPER] : []), ...(isRemote ? [KUBECTL_KPW] : [])],
  }));
});

/** Flags that are settings: test/config/node-proxy-options.test.ts has another value of each. */
const [, { entries: SETTINGS }] = settingsSchema.pipe;

const USES = PROGRAMS.flatMap((program) =>
  program.commands.flatMap((command) =>
    command.flags
      .filter((flag) => !flag.hidden && !(flag.attributeName() in SETTINGS))
      .map((flag) => ({ program, command, flag })),
  ),
);

type Use = (typeof USES)[number];

function isUsed({ program, command, flag }: Use): boolean {
  const forms = [flag.long, flag.short].filter((form) => form !== undefined);
  return LINES.some(
    ({ words, programs }) =>
      programs.includes(program) &&
      words.has(command.name) &&
      forms.some((form) => words.has(form)),
  );
}

/** Commands of one program share what one definition says, and programs what one function does. */
function isShared(a: Use, b: Use): boolean {
  const isOne = (one: Command, other: Command) => one.execute === other.execute;
  const text = ({ flag }: Use) => `${flag.flags}: ${flag.description}`;
  return text(a) === text(b) && (a.program === b.program || isOne(a.command, b.command));
}

// Nothing else finds a flag that does nothing. One crashed in kubectl kpw explain, and was used in explain.
test.each(USES.map((use) => [use.program.name, use.command.name, use.flag.flags, use] as const))(
  'a test has a command line of %s %s with %s',
  (_program, _command, _flag, use) => {
    expect(USES.filter((other) => isShared(use, other)).some(isUsed)).toBe(true);
  },
);
