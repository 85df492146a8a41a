import { describe, expect, test } from '@jest/globals';
import {
  expired,
  initialPosition,
  listed,
  listNewest,
  relist,
  restored,
  watchEnded,
  watching,
  wentBack,
} from '../../../src/proxy/reflector/position.ts';

const list = (version: string) => ({ verb: 'list', version });
const watch = (reached: boolean) => ({ verb: 'watch', reached });

describe('the next request', () => {
  test('is a list that is not older than the snapshot, also while the snapshot is shown', () => {
    expect(initialPosition('7').next).toEqual(list('7'));
    expect(restored(initialPosition('7'), '7')).toEqual({ notified: '7', next: list('7') });
  });

  test('after a list is a watch from a version that the API server has reached', () => {
    expect(listed('9')).toEqual({ notified: '9', next: watch(true) });
  });

  test('after a cut watch is a watch from a version that may not be reached', () => {
    expect(watching('11')).toEqual({ notified: '11', next: watch(false) });
  });

  test.each([true, false])('after a watch that the API server ended in its time: %p', (inTime) => {
    expect(watchEnded(watching('11'), inTime)).toEqual({ notified: '11', next: watch(inTime) });
  });

  test('after an expired version is a list at that version, then of the newest', () => {
    const first = expired(watching('11'));
    expect(first).toEqual({ notified: '11', next: list('11') });
    expect(expired(first)).toEqual({ notified: '11', next: list('') });
  });

  test('after a version that is ahead of the API server is a list of the newest', () => {
    expect(listNewest(watching('11'))).toEqual({ notified: '11', next: list('') });
  });

  test('after unusable data is a list at the version, or the same list again', () => {
    expect(relist(watching('11')).next).toEqual(list('11'));
    expect(relist(listNewest(watching('11'))).next).toEqual(list(''));
  });
});

describe('a list went back in time', () => {
  test.each([
    ['older than what was notified', listNewest(watching('11')), '9', true],
    ['compared as numbers', listNewest(watching('11')), '100', false],
    ['not of the newest', expired(watching('11')), '9', false],
    ['before anything was notified', listNewest(initialPosition('0')), '9', false],
    ['without a decimal version', listNewest(watching('x')), '9', false],
  ])('%s', (_case, position, version, back) => {
    expect(wentBack(position, version)).toBe(back);
  });
});
