import type { Command } from '../src/commands/command.ts';
import { syntaxOf } from '../src/commands/command-line/help.ts';

/** A generated part of docs/commands.md is between these lines. */
const BEGIN = '<!-- generated from the table of commands by npm run commands -->';
const END = '<!-- end -->';

/** Replaces the generated parts of docs/commands.md, in their order: exit codes, and flags of each program. */
export function commandsMarkdown(
  text: string,
  local: readonly Command[],
  remote: readonly Command[],
): string {
  const parts = [exitCodes(local), reference(local), exitCodes(remote), reference(remote)];
  const [head = '', ...others] = text.split(BEGIN);
  if (others.length !== parts.length)
    throw new Error(`docs/commands.md needs ${parts.length} parts`);
  const rest = others.map((each, index) => {
    const after = each.slice(each.indexOf(END) + END.length);
    return `${BEGIN}\n\n${parts[index]}\n${END}${after}`;
  });
  return `${head}${rest.join('')}`;
}

function exitCodes(commands: readonly Command[]): string {
  const codes = [0, 1, 2, 3] as const;
  const rows = commands.map(({ name, exits }) => [
    `\`${name}\``,
    ...codes.map((code) => exits[code] ?? ''),
  ]);
  return table([['command', ...codes.map(String)], ...rows]);
}

function reference(commands: readonly Command[]): string {
  const sections = commands.map(({ name, summary, flags }) => {
    const rows = flags.map((flag) => [`\`${syntaxOf(flag)}\``, flag.help]);
    const list = rows.length === 0 ? 'It has no flags.\n' : table([['flag', 'meaning'], ...rows]);
    return `**\`${name}\`**: ${summary}.\n\n${list}`;
  });
  return sections.join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = (escaped[0] ?? []).map((_, column) =>
    Math.max(...escaped.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[], fill: string) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |\n`;
  const [header = [], ...body] = escaped;
  const rule = line(
    header.map(() => ''),
    '-',
  );
  return [line(header, ' '), rule, ...body.map((row) => line(row, ' '))].join('');
}
