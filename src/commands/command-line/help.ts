import type { Command, Flag } from '../command.ts';

/** Width of a terminal on which --help is read. */
const WIDTH = 120;

/** The text of `COMMAND --help`. */
export function helpOf(command: Command, program: string): string {
  const { name, description, usage, flags, notes, examples } = command;
  const forms = usage.map(
    ([args, remark]): Line => [`${program} ${name} ${args}`.trimEnd(), remark ?? ''],
  );
  return [
    description,
    section('Usage', forms),
    ...(flags.length === 0
      ? []
      : [
          section(
            'Flags',
            flags.map((flag) => [syntaxOf(flag), flag.help]),
          ),
        ]),
    ...(notes === undefined ? [] : [notes]),
    `Examples:\n${examples.map((line) => `  ${line.replaceAll(PROGRAM, program)}\n`).join('')}`.trimEnd(),
    wrap(`Exit codes: ${exitCodesOf(command)}.`, ''),
  ]
    .map((part) => `${part.replaceAll(PROGRAM, program)}\n`)
    .join('\n');
}

/** Stands for the name of the program in texts of the table. */
export const PROGRAM = '{program}';

/** The text of `--help` of the program. */
export function usageOf(program: string, title: string, commands: readonly Command[]): string {
  return `${program}: ${title}

Usage:
  ${program} COMMAND [flags]

Commands:
${columns(commands.map(({ name, summary }) => [name, summary])).join('\n')}

  ${program} COMMAND --help   flags, examples and exit codes of a command
  -h, --help${' '.repeat(program.length + 7)}this text
  --version${' '.repeat(program.length + 8)}the version

Exit codes of all commands: 0 success, 1 the command failed, 2 wrong command line, 3 the command worked and found
problems. See each command.
`;
}

/** `-n, --namespace NS` */
export function syntaxOf({ name, short, value }: Flag): string {
  const letter = short === undefined ? '' : `-${short}, `;
  return `${letter}--${name}${value === undefined ? '' : ` ${value}`}`;
}

/** `0 answered, 2 wrong command line` */
export function exitCodesOf({ exits }: Command): string {
  return Object.entries(exits)
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join(', ');
}

type Line = readonly [left: string, right: string];

function section(title: string, lines: readonly Line[]): string {
  return `${title}:\n${columns(lines).join('\n')}`;
}

function columns(lines: readonly Line[]): string[] {
  const width = Math.max(...lines.map(([left]) => left.length)) + 2;
  return lines.map(([left, right]) => {
    const text = wrap(right, ' '.repeat(width + 2));
    return `  ${left.padEnd(width)}${text}`.trimEnd();
  });
}

/** Breaks a text into lines. All but the first are indented. */
function wrap(text: string, indent: string): string {
  const most = WIDTH - indent.length;
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > most) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join(`\n${indent}`);
}
