import { expect, test } from '@jest/globals';
import { breakEven, needsOf } from '../../../bench/kube-proxy/break-even.ts';
import type { GainCase } from '../../../bench/kube-proxy/measure.ts';

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

test('what both need is compared with the kube-proxy alone of the same mode', () => {
  const one = (mode: GainCase['mode'], kubeProxy: number, wrapper?: number) =>
    ({
      mode,
      target: wrapper === undefined ? 'direct' : 'wrapper',
      memory: { kubeProxy, wrapper },
      window: { cpu: { kubeProxy: kubeProxy / 10, wrapper: wrapper && wrapper / 10 } },
    }) as GainCase;
  const cases = [
    one('nftables', 90),
    one('nftables', 40, 70),
    one('iptables', 200),
    one('iptables', 50, 80),
  ];
  expect(needsOf(300, cases)).toEqual([
    {
      services: 300,
      mode: 'nftables',
      memory: { alone: 90, together: 110 },
      cpu: { alone: 9, together: 11 },
    },
    {
      services: 300,
      mode: 'iptables',
      memory: { alone: 200, together: 130 },
      cpu: { alone: 20, together: 13 },
    },
  ]);
});
