import { expect, test } from '@jest/globals';
import { figure, formatRows } from '../../bench/table.ts';

test('rows that are shorter than the header are filled up', () => {
  const rows = [['what', 'ms', 'n'], ['a', '1.00'], ['**longer**']];
  expect(formatRows(rows, 1).split('\n')).toEqual([
    '| what       |   ms |   n |',
    '| ---------- | ---: | --: |',
    '| a          | 1.00 |     |',
    '| **longer** |      |     |',
  ]);
});

test.each([
  [0, '0'],
  [0.004, '0.00'],
  [1.234, '1.23'],
  [-12.34, '-12.3'],
  [12345.6, '12346'],
])('%d is written as %s', (value, text) => {
  expect(figure(value)).toBe(text);
});
