import type { LookupFunction } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { shareLookups } from '../../../src/client/system/dns-lookup.ts';
import { eventually } from '../../support/eventually.ts';

describe('shareLookups()', () => {
  type Answer = Parameters<Parameters<LookupFunction>[2]>;

  test('sends one lookup for all concurrent callers, and a new one after the answer', async () => {
    const asked: string[] = [];
    let answer: (...args: Answer) => void = () => {};
    const shared = shareLookups((hostname, { family }, callback) => {
      asked.push(`${hostname} ${family}`);
      answer = callback;
    });
    const told: unknown[] = [];
    const ask = (hostname: string, family = 0) =>
      shared(hostname, { family }, (error, address) => told.push(error?.message ?? address));
    ask('a');
    ask('a');
    expect(asked).toEqual(['a 0']);
    answer(null, '10.0.0.1', 4);
    await eventually(() => told, ['10.0.0.1', '10.0.0.1']);
    ask('a');
    ask('a', 6);
    ask('b');
    expect(asked).toEqual(['a 0', 'a 0', 'a 6', 'b 0']);
  });
});
