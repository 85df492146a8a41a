import { expect, test } from '@jest/globals';
import { exponentOf, fitLine, type Point } from '../../bench/fit.ts';

const at = (y: (x: number) => number): Point[] => [10, 100, 1000].map((x) => [x, y(x)]);

test.each([
  ['in proportion', (x: number) => 3 * x, 1],
  ['quadratic', (x: number) => x * x, 2],
  ['of the square root', (x: number) => 7 * Math.sqrt(x), 0.5],
  ['constant', () => 5, 0],
])('a cost that is %s has the exponent of its name', (_name, y, exponent) => {
  expect(exponentOf(at(y))).toBeCloseTo(exponent);
});

test('a point that is not above the constant part is left out', () => {
  const points: Point[] = [[1, 79], ...at((x) => 80 + x)];
  expect(exponentOf(points, 80)).toBeCloseTo(1);
});

test('a line is found with its constant part, and its error where points are off it', () => {
  const points: Point[] = [
    [0, 0],
    [1, 2],
    [2, 1],
  ];
  const { slope, constant, error } = fitLine(points);
  expect([slope, constant]).toEqual([0.5, 0.5]);
  expect(error).toBeCloseTo(Math.sqrt(0.75));
});
