import { describe, expect, test } from '@jest/globals';
import {
  expired,
  inHistory,
  initialPosition,
  listed,
  listNewest,
  relist,
  restored,
  watchEnded,
  watching,
} from '../../../src/proxy/reflector/position.ts';

const cutAt = (version: string) => watching(listed('1', 0), version);
const list = (version: string) => ({ verb: 'list', version });
const watch = (reached: boolean) => ({ verb: 'watch', reached });

describe('the next request', () => {
  test('is a list that is not older than the snapshot, also while the snapshot is shown', () => {
    expect(initialPosition('7').next).toEqual(list('7'));
    expect(restored(initialPosition('7'), '7')).toEqual({
      notified: '7',
      history: 0,
      next: list('7'),
    });
  });

  test('after a list is a watch from a version that the API server has reached', () => {
    expect(listed('9', 2)).toEqual({ notified: '9', history: 2, next: watch(true) });
  });

  test('after a cut watch is a watch from a version that may not be reached', () => {
    expect(cutAt('11')).toEqual({ notified: '11', history: 0, next: watch(false) });
  });

  test.each([true, false])('after a watch that the API server ended in its time: %p', (inTime) => {
    expect(watchEnded(cutAt('11'), inTime)).toEqual({
      notified: '11',
      history: 0,
      next: watch(inTime),
    });
  });

  test('after an expired version is a list at that version, then of the newest', () => {
    const first = expired(cutAt('11'));
    expect(first).toEqual({ notified: '11', history: 0, next: list('11') });
    expect(expired(first)).toEqual({ notified: '11', history: 0, next: list('') });
  });

  test('after a version that is ahead of the API server is a list of the newest', () => {
    expect(listNewest(cutAt('11'))).toEqual({ notified: '11', history: 0, next: list('') });
  });

  test('after unusable data is a list at the version, or the same list again', () => {
    expect(relist(cutAt('11')).next).toEqual(list('11'));
    expect(relist(listNewest(cutAt('11'))).next).toEqual(list(''));
  });
});

test('in another history the next request is a list of the newest', () => {
  const position = cutAt('11');
  expect(inHistory(position, 0)).toBe(position);
  expect(inHistory(position, 1)).toEqual({ notified: '11', history: 0, next: list('') });
});
