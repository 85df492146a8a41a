import { expect, test } from '@jest/globals';
import { summarize } from '../../bench/measure.ts';
import { formatTable } from '../../bench/report.ts';

test.each([
  [9, ['5.00', '', '', '', '9']],
  [10, ['5.00', '9.00', '', '', '10']],
  [99, ['50.0', '90.0', '', '', '99']],
  [100, ['50.0', '90.0', '99.0', '', '100']],
])('of %i samples only those percentiles are shown that are not the largest', (n, cells) => {
  const samples = Array.from({ length: n }, (_, index) => index + 1);
  const table = formatTable([{ id: 'a', what: 'a', unit: 'ms', wrapper: summarize(samples) }]);
  const row = table.split('\n').at(-1)?.split('|').slice(6, -1);
  expect(row?.map((cell) => cell.trim())).toEqual(cells);
});
