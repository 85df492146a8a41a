import { expect, test } from '@jest/globals';
import { cpuSeconds } from '../../bench/process-usage.ts';

test('the CPU time of a process is its own and that of its ended children', () => {
  const fields = 'S 1 2 2 0 -1 4194560 20 30 0 0 100 23 7 1000 20 0 9 0 300 1 2';
  expect(cpuSeconds(`42 (kube-proxy) ${fields}`)).toBeCloseTo(11.3);
  expect(cpuSeconds(`42 (a) b (c) ${fields}`)).toBeCloseTo(11.3);
});
