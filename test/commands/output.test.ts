import { describe, expect, test } from '@jest/globals';
import { paint, wantsColour } from '../../src/commands/output/colour.ts';
import { parseJsonPath } from '../../src/commands/output/json-path.ts';
import { type Report, renderReport } from '../../src/commands/output/report.ts';

const DATA = {
  node: 'edge-1',
  services: [
    { service: 'a/web', kept: 1, 'site.x': 'q' },
    { service: 'a/db', kept: 0 },
  ],
};

describe('-o jsonpath', () => {
  test.each([
    ['{.node}', 'edge-1'],
    ['.node', 'edge-1'],
    ['{.services[*].service}', 'a/web a/db'],
    ['{.services[0].kept}', '1'],
    ['{.services[-1].service}', 'a/db'],
    ['{.services[0:1].service}', 'a/web'],
    ["{.services[0]['site.x']}", 'q'],
    ['{.services[0].site\\.x}', 'q'],
    ['{..service}', 'a/web a/db'],
    ['{.services[?(@.kept==0)].service}', 'a/db'],
    ['{.services[?(@.service=="a/web")].kept}', '1'],
    ['{.services[?(@.kept>=1)].service}', 'a/web'],
    ['{range .services[*]}{.service}={.kept}{"\\n"}{end}', 'a/web=1\na/db=0\n'],
    ['node {.node}!', 'node edge-1!'],
    ['{.services[0]}', '{"service":"a/web","kept":1,"site.x":"q"}'],
    ['{.nothing}', ''],
  ])('%s is %j', (template, text) => {
    expect(parseJsonPath(template)(DATA)).toBe(text);
  });

  test.each(['', '{.a', '{end}', '{range .a}', '{.a[}', '{.a[?(b)]}', '{.a[?(@.b==c)]}', '{a b}'])(
    '%j is refused',
    (template) => {
      expect(() => parseJsonPath(template)).toThrow(/--output jsonpath: /);
    },
  );

  test('does not let a value control a terminal', () => {
    expect(parseJsonPath('{.a}')({ a: 'x\u001b[31m\ny' })).toBe('x\\u001b[31m\\ny');
  });
});

const REPORT: Report = {
  data: DATA,
  text: ({ wide, headers }) => `${headers}${wide}`,
  names: ['a/web'],
  csv: () => [['service'], ['a,b']],
};

test.each([
  [{}, 'truefalse'],
  [{ output: 'wide', 'no-headers': true }, 'falsetrue'],
  [{ output: 'name' }, 'a/web\n'],
  [{ output: 'csv' }, 'service\n"a,b"\n'],
  [{ output: 'csv', 'no-headers': true }, '"a,b"\n'],
  [{ output: 'jsonpath={.node}' }, 'edge-1'],
])('a report with %j is %j', (flags, text) => {
  expect([...renderReport(REPORT, flags)].join('')).toBe(text);
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
