import { describe, expect, test } from '@jest/globals';
import { paint, wantsColour } from '../../src/commands/output/colour.ts';
import { type OutputFlags, type Report, renderReport } from '../../src/commands/output/report.ts';

const REPORT: Report = {
  data: { node: 'edge-1' },
  text: ({ wide, headers }) => `${headers}${wide}`,
};

test.each<[OutputFlags, string]>([
  [{}, 'truefalse'],
  [{ output: 'wide', headers: false }, 'falsetrue'],
  [{ output: 'json' }, '{\n  "node": "edge-1"\n}\n'],
  [{ output: 'yaml' }, 'node: edge-1\n'],
])('a report with %j is %j', (flags, text) => {
  expect(renderReport(REPORT, flags)).toBe(text);
});

describe('colours', () => {
  test('are for terminals only, and not with NO_COLOR', () => {
    expect(wantsColour({ isTTY: true }, {})).toBe(true);
    expect(wantsColour({}, {})).toBe(false);
    expect(wantsColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColour({ isTTY: true }, { NO_COLOR: '' })).toBe(true);
    expect(wantsColour({ isTTY: true }, { TERM: 'dumb' })).toBe(false);
  });

  test('change nothing but the look', () => {
    const text = '[ok]   a\n[FAIL] b\n! c\ni d\n  +  e\nplain\nSERVICE  OUTCOME\n';
    const painted = paint(text);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is removed
    expect(painted.replaceAll(/\u001b\[\d+m/g, '')).toBe(text);
    expect(painted).toContain('\u001b[31m[FAIL] b\u001b[0m\n\u001b[33m! c\u001b[0m');
    expect(painted).toContain('\nplain\n');
  });
});
