import type { Program } from '../../../cli/command-line/command.ts';
import { VERSION } from '../../../src/version.ts';
import { runInProcess } from './run-in-process.ts';

/** What differs from run to run, by the name that stands for it in command lines and transcripts. */
export type Places = Readonly<Record<string, string>>;

/** In a column a time keeps its length. */
const VOLATILE: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => time.replaceAll(/\d/g, '0')],
  [/\b\d+ (s|min|h|d)\b {2,}/g, (time) => time.replace(/^\d+/, 'N').padEnd(time.length)],
  [/\b\d+ (?=(s|min|h|d)\b)/g, () => 'N '],
  [/(?<=ageSeconds"?: ?)\d+/g, () => '0'],
  // An API server in memory sends nothing for a while, and a machine can be busy for long.
  [/\bquiet\b/g, () => 'connected'],
  [/(?<=http:\/\/127\.0\.0\.1:)(?!10361)\d{4,5}/g, () => 'PORT'],
  // In jest an error of Node.js is not an instance of Error.
  [/\bError: (?=[A-Z]+: |connect )/g, () => ''],
];

/** Of settings. Numbered, because some must be equal. */
const REVISION = /(?<=settings:? "?)[0-9a-f]{8}\b/g;

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
  const revisions = [...new Set(text.match(REVISION))];
  return VOLATILE.reduce(
    (all, [pattern, to]) => all.replaceAll(pattern, to),
    replaceAll(text, named),
  ).replaceAll(REVISION, (revision) => `REVISION-${revisions.indexOf(revision)}`);
}

function replaceAll(text: string, pairs: readonly (readonly [from: string, to: string])[]): string {
  return pairs.reduce((all, [from, to]) => all.replaceAll(from, to), text);
}
