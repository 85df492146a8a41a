import { afterEach, describe, expect, test } from '@jest/globals';
import type { Command } from '../../cli/command-line/command.ts';
import { NO_HEADERS, outputFlag } from '../../cli/definitions/flags.ts';
import { version } from '../../cli/definitions/version.ts';
import { paint } from '../../cli/output/colour.ts';
import { runInProcess } from '../support/commands/run-in-process.ts';

const command: Command = {
  ...version,
  flags: [outputFlag('text', 'json', 'yaml', 'wide'), NO_HEADERS],
  execute: async () => ({
    code: 0,
    report: { data: { node: 'edge-1' }, text: ({ wide, headers }) => `${headers}${wide}` },
  }),
};
const program = { name: 'test', title: 'test', commands: [command] };

test.each<[string[], string]>([
  [[], 'truefalse'],
  [['-o', 'wide', '--no-headers'], 'falsetrue'],
  [['-o', 'json'], '{\n  "node": "edge-1"\n}\n'],
  [['-o', 'yaml'], 'node: edge-1\n'],
])('a report with %j is %j', async (flags, out) => {
  expect(await runInProcess(program, ['version', ...flags])).toEqual({ code: 0, out, err: '' });
});

describe('colours', () => {
  const { hasColors } = process.stdout;
  afterEach(() => {
    process.stdout.hasColors = hasColors;
  });
  const text = '[ok]   a\n[FAIL] b\n! c\ni d\n  +  e\nplain\nSERVICE  OUTCOME\n';

  test.each([undefined, () => false])('are for terminals that want them', (has) => {
    process.stdout.hasColors = has as typeof hasColors;
    expect(paint(text)).toBe(text);
  });

  test('change nothing but the look', () => {
    process.stdout.hasColors = () => true;
    const painted = paint(text);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is removed
    expect(painted.replaceAll(/\u001b\[\d+m/g, '')).toBe(text);
    expect(painted).toContain('\u001b[31m[FAIL] b\u001b[39m\n\u001b[33m! c\u001b[39m');
    expect(painted).toContain('\nplain\n');
  });
});
