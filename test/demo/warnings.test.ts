import { expect, test } from '@jest/globals';
import { Warnings } from '../../demo/warnings.ts';

test('warnings of the wrapper are lines for people, each once, and at most five at a time', () => {
  let calls = 0;
  const warnings = new Warnings(() => calls++);
  const err = new Error('no JSON');
  warnings.logger.info('not a warning');
  for (const node of ['edge-1', 'edge-2']) {
    warnings.logger.child({ node }).warn({ service: 'shop/web', err }, 'the policy is invalid');
  }
  expect(warnings.take()).toEqual([
    '! the wrapper warns: the policy is invalid: no JSON (service shop/web)',
  ]);
  for (let index = 0; index < 100; index++) warnings.logger.error({ index }, 'broken');
  const lines = warnings.take();
  expect(lines).toHaveLength(6);
  expect(lines.at(-1)).toBe('! and 95 more warnings');
  expect(warnings.take()).toEqual([]);
  expect(calls).toBeGreaterThan(100);
});
