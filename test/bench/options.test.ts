import { expect, test } from '@jest/globals';
import { parseGrowthOptions } from '../../bench/growth/options.ts';
import { parseGainOptions } from '../../bench/kube-proxy/options.ts';
import { parseOptions } from '../../bench/options.ts';

test.each([
  [parseOptions, ['--smoke']],
  [parseOptions, ['--only', 'start']],
  [parseOptions, ['--wrapper', 'other.js']],
  [parseGrowthOptions, ['--smoke']],
  [parseGainOptions, ['--smoke']],
  [parseGainOptions, ['--modes', 'iptables']],
])('%p: what %j measures does not go into the README', (parse, args) => {
  expect(() => parse([...args, '--write'])).toThrow('--write: only for a whole run');
  expect(parse(args)?.write).toBe(false);
});

test('a whole run does', () => {
  for (const parse of [parseOptions, parseGrowthOptions, parseGainOptions]) {
    expect(parse(['--write'])?.write).toBe(true);
  }
});
