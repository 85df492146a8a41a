import { expect, test } from '@jest/globals';
import { breakEven } from '../../../bench/kube-proxy/break-even.ts';

const at = (services: number, alone: number, together: number) => ({
  services,
  need: { alone, together },
});

test.each([
  ['between the two sizes around it', [at(100, 100, 160), at(300, 120, 100)], 250],
  ['after the last size that needs more', [at(1, 2, 1), at(100, 1, 2), at(200, 2, 1)], 150],
  ['the smallest size, if all need less', [at(100, 2, 1), at(300, 2, 1)], 100],
  ['none, if the largest needs more', [at(100, 2, 1), at(300, 1, 2)], undefined],
  ['none, if the largest needs the same', [at(100, 2, 1), at(300, 2, 2)], undefined],
])('the break-even is %s', (_, needs, services) => {
  expect(breakEven(needs)).toBe(services);
});
