import type { Program } from '../../../cli/command-line/command.ts';
import { VERSION } from '../../../src/version.ts';
import { runInProcess } from './run-in-process.ts';

/** What differs from run to run, by the name that stands for it in command lines and transcripts. */
export type Places = Readonly<Record<string, string>>;

/** Lengths of times are kept, because columns depend on them. */
const VOLATILE: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => time.replaceAll(/\d/g, '0')],
  [/\b\d+ s\b */g, (time) => `${'N s'.padEnd(time.length)}`],
  [/(?<=ageSeconds"?: ?)\d+/g, () => '0'],
  // In jest an error of Node.js is not an instance of Error.
  [/\bError: (?=[A-Z]+: |connect )/g, () => ''],
  [/(?<=settings )[0-9a-f]{8}/g, () => 'REVISION'],
];

/** All that a user sees of a command line: standard output, errors and, unless it is 0, the exit code. */
export async function transcriptOf(
  program: Program,
  line: string,
  places: Places = {},
): Promise<string> {
  const words = line.split(' ').map((word) => replaceAll(word, Object.entries(places)));
  const { code, out, err } = await runInProcess(program, words);
  const text = `${out}${err}${code === 0 ? '' : `exit code ${code}\n`}`;
  return `\n${withoutVolatile(text, places)}`;
}

/** A text that is the same in each run. */
export function withoutVolatile(text: string, places: Places = {}): string {
  const named = Object.entries({ VERSION, ...places }).map(
    ([name, value]) => [value, name] as const,
  );
  return VOLATILE.reduce(
    (all, [pattern, to]) => all.replaceAll(pattern, to),
    replaceAll(text, named),
  );
}

function replaceAll(text: string, pairs: readonly (readonly [from: string, to: string])[]): string {
  return pairs.reduce((all, [from, to]) => all.replaceAll(from, to), text);
}
