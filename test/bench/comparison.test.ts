import { expect, test } from '@jest/globals';
import { formatComparison } from '../../bench/comparison.ts';
import { type ProgramMeasure, summarize } from '../../bench/measure.ts';
import { turnsOf } from '../../bench/programs.ts';

const measured = (program: string, id: string, ms: number, direct?: number): ProgramMeasure => ({
  program,
  id,
  what: `a ${id}`,
  unit: 'ms',
  wrapper: summarize([ms]),
  ...(direct === undefined ? {} : { direct: summarize([direct]) }),
});

test('programs are compared turn by turn', () => {
  const table = formatComparison([
    measured('this', 'list', 4, 100),
    measured('1.2.0', 'list', 8, 100),
    measured('1.2.0', 'list', 10, 200),
    measured('this', 'list', 6, 200),
    measured('this', 'list', 9, 300),
    measured('1.2.0', 'list', 9, 300),
    measured('this', 'event', 1),
    measured('1.2.0', 'event', 2),
  ]);
  expect(table.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    '| | unit | direct | this | 1.2.0 | this / 1.2.0 |',
    expect.stringMatching(/^\| -+ \|/),
    '| a list | ms | 200 | 6.00 (0.030) | 9.00 (0.050) | 0.60 (0.50 to 1.00) |',
    '| a event | ms | | 1.00 | 2.00 | 0.50 (0.50 to 0.50) |',
  ]);
});

test('a program is not always the first of a turn', () => {
  const programs = ['a', 'b'].map((name) => ({ name, path: `/${name}.js` }));
  expect(turnsOf(programs, 3).map(({ name }) => name)).toEqual(['a', 'b', 'b', 'a', 'a', 'b']);
});
