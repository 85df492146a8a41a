/** Terminal sequences (ECMA-48, SGR). */
const SGR = { red: '31', green: '32', yellow: '33', dim: '2', bold: '1' } as const;

/** What the start of a line means. All lines are printed by printLine(), so untrusted text cannot contain a sequence. */
const RULES: readonly (readonly [RegExp, keyof typeof SGR])[] = [
  [/^(?:\[FAIL\]|E ).*/, 'red'],
  [/^! .*/, 'yellow'],
  [/^i .*/, 'dim'],
  [/^\[ok\]/, 'green'],
  [/^\[not (known|yet)\]/, 'dim'],
  [/^ {2}\+(?= )/, 'green'],
  [/^ {2}-(?= )/, 'red'],
  [/^ {2}~(?= )/, 'yellow'],
  [/^[A-Z][A-Z ]+(?: {2}[A-Z ]+)+$/, 'bold'],
];

/** Whether output to this stream is coloured: on a terminal only, and not with NO_COLOR (no-color.org). */
export function wantsColour(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
}

/** Colours lines by how they begin. */
export function paint(text: string): string {
  return text.replaceAll(/[^\n]+/g, (line) => {
    for (const [pattern, colour] of RULES) {
      if (pattern.test(line)) {
        return line.replace(pattern, (found) => `\u001b[${SGR[colour]}m${found}\u001b[0m`);
      }
    }
    return line;
  });
}
