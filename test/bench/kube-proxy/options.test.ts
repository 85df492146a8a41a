import { expect, test } from '@jest/globals';
import { parseGainOptions } from '../../../bench/kube-proxy/options.ts';

test('a smoke run is small, and flags change it', () => {
  const options = parseGainOptions(['--smoke', '--services', '20', '--modes', 'iptables']);
  expect(options).toMatchObject({ modes: ['iptables'], warmUpSeconds: 0, windowSeconds: 1 });
  expect(options?.cluster.services).toBe(20);
});

test('help starts no run', () => {
  expect(parseGainOptions(['--help'])).toBeUndefined();
});

test.each([
  [['--modes', 'ipvs'], '--modes: unknown mode ipvs'],
  [['--rate', '0'], '--rate: must be a whole number'],
])('%j is refused', (args, message) => {
  expect(() => parseGainOptions(args)).toThrow(message);
});
