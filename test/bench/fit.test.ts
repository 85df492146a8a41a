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

test('a constant part hides the exponent of the rest, unless it is taken off', () => {
  const points = at((x) => 80 + x / 10);
  expect(exponentOf(points)).toBeLessThan(0.3);
  expect(exponentOf(points, 80)).toBeCloseTo(1);
});

test('a point that is not above the constant part is left out', () => {
  const points: Point[] = [[1, 79], ...at((x) => 80 + x)];
  expect(exponentOf(points, 80)).toBeCloseTo(1);
});

test.each([
  ['no point', []],
  ['one point', [[10, 1]]],
  [
    'points of one x',
    [
      [10, 1],
      [10, 2],
    ],
  ],
] as [string, Point[]][])('%s has no exponent', (_name, points) => {
  expect(exponentOf(points)).toBeUndefined();
});

test('a line is found with its constant part, and its error where points are off it', () => {
  expect(fitLine(at((x) => 4 + 2 * x))).toMatchObject({ slope: 2, error: 0 });
  expect(fitLine(at((x) => 4 + 2 * x)).constant).toBeCloseTo(4);
  const points: Point[] = [
    [0, 0],
    [1, 2],
    [2, 1],
  ];
  expect(fitLine(points)).toMatchObject({ slope: 0.5, constant: 0.5 });
  expect(fitLine(points).error).toBeCloseTo(Math.sqrt(0.75));
});
