import { describe, expect, test } from '@jest/globals';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { type KnownState, olderState } from '../../../src/proxy/reflector/older-state.ts';

const codec = createJsonCodec();

function object(name: string, resourceVersion: string): Buffer {
  return Buffer.from(JSON.stringify({ metadata: { namespace: 'default', name, resourceVersion } }));
}

const objects: KnownState['objects'] = new Map([
  ['default/a', { resourceVersion: '5' }],
  ['default/b', { resourceVersion: '99' }],
]);

describe('a list shows an older state', () => {
  test.each([
    ['when its version is older', '11', '9', 'has reached only 9, and had reached 11 before'],
    ['not when it is newer as a number', '11', '100', undefined],
    ['not before anything was known', '', '9', undefined],
    ['not when the versions are not decimal', 'x', '9', undefined],
  ])('%s', (_case, version, resourceVersion, problem) => {
    const list = { resourceVersion, items: [] };
    expect(olderState(list, { version, objects }, codec.meta)).toBe(problem);
  });

  test.each([
    [
      'when an object is older',
      [object('a', '6'), object('b', '98')],
      'default/b at 98, which was at 99',
    ],
    ['not when all are as new', [object('a', '5'), object('b', '100')], undefined],
    ['not when an object is unknown', [object('c', '1')], undefined],
  ])('%s, whatever its version', (_case, items, problem) => {
    const list = { resourceVersion: '1000', items };
    const older = olderState(list, { version: '100', objects }, codec.meta);
    expect(older).toBe(problem && `has ${problem} before`);
  });

  test('only if something is known: nothing is read then', () => {
    const list = { resourceVersion: '10', items: [Buffer.from('not an object')] };
    const readMeta = () => {
      throw new Error('read');
    };
    expect(olderState(list, { version: '9', objects: new Map() }, readMeta)).toBeUndefined();
  });
});
