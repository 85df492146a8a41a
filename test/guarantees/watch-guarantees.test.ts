import { describe, expect, test } from '@jest/globals';
import {
  type Atom,
  type ClientRecord,
  checkGuarantees,
  type Guarantee,
  type Seen,
} from '../support/guarantees/watch-guarantees.ts';

function seen(version: number, digest: string): Seen {
  return { version: BigInt(version), digest };
}

function list(version: number, items: Record<string, string>, log = 'one'): ClientRecord {
  const entries = Object.entries(items).map(([key, digest]) => [key, seen(1, digest)] as const);
  return { kind: 'list', log, version: BigInt(version), items: new Map(entries) };
}

function watch(from: number, log = 'one'): ClientRecord {
  return { kind: 'watch', log, from: BigInt(from) };
}

function modified(key: string, version: number, digest: string): ClientRecord {
  return { kind: 'event', type: 'MODIFIED', key, object: seen(version, digest) };
}

function bookmark(version: number): ClientRecord {
  return { kind: 'bookmark', version: BigInt(version) };
}

const end: ClientRecord = { kind: 'end' };

/** Two slices that a relabel changes together, from near to far. */
const atom: Atom = {
  keys: ['a', 'b'],
  states: [
    ['near', 'near'],
    ['far', 'far'],
  ],
};

/** A client that follows from the start, is cut off, and resumes. */
const begin = [list(10, { a: 'near', b: 'near' }), watch(10)];
const steady = [
  ...begin,
  modified('a', 11, 'far'),
  end,
  watch(11),
  modified('b', 12, 'far'),
  bookmark(12),
  modified('c', 13, 'new'),
];

function violated(second: readonly ClientRecord[]): Guarantee[] {
  const clients = new Map([
    ['steady', steady],
    ['second', second],
  ]);
  return [...new Set(checkGuarantees(clients, [atom]).map(({ guarantee }) => guarantee))];
}

describe('checkGuarantees()', () => {
  test.each<[string, readonly ClientRecord[]]>([
    ['a client that does the same', steady],
    ['a client that starts later', [list(12, { a: 'far', b: 'far' }), watch(12)]],
    [
      'a client that continues from a version of another client',
      [watch(12), modified('c', 13, 'new')],
    ],
    ['a client of another process', [list(11, { a: 'far', b: 'far' }, 'two'), watch(11, 'two')]],
  ])('finds no violation for %s', (_name, second) => {
    expect(violated(second)).toEqual([]);
  });

  test.each<[Guarantee, string, readonly ClientRecord[]]>([
    [
      'ordered',
      'events are swapped',
      [...begin, modified('b', 12, 'far'), modified('a', 11, 'far')],
    ],
    [
      'unique',
      'an event is sent twice',
      [...begin, modified('a', 11, 'far'), modified('a', 11, 'far')],
    ],
    ['unique', 'two events have one version', [...begin, modified('b', 11, 'far')]],
    ['reliable', 'an event is missing in the stream', [...begin, modified('b', 12, 'far')]],
    [
      'reliable',
      'an event is missing after a reconnect',
      [...begin, end, watch(10), modified('b', 12, 'far')],
    ],
    [
      'reliable',
      'a list has another state than watchers at its version',
      [list(12, { a: 'far', b: 'far', d: 'ghost' })],
    ],
    ['atomic', 'a list is taken within a change', [list(11, { a: 'far', b: 'near' })]],
    [
      'atomic',
      'a bookmark is sent within a change',
      [...begin, modified('a', 11, 'far'), bookmark(11), modified('b', 12, 'far')],
    ],
    ['resumable', 'a version that was never sent is accepted', [watch(99)]],
    [
      'resumable',
      'a version of another process is accepted',
      [list(500, { a: 'far', b: 'far' }, 'two'), watch(500, 'one')],
    ],
    [
      'bookmarkable',
      'an older event follows a bookmark',
      [...begin, bookmark(12), modified('a', 11, 'far'), modified('b', 12, 'far')],
    ],
    [
      'bookmarkable',
      'a bookmark is older than an event before it',
      [...begin, modified('a', 11, 'far'), modified('b', 12, 'far'), bookmark(10)],
    ],
  ])('reports that it is not %s if %s', (guarantee, _name, second) => {
    expect(violated(second)).toContain(guarantee);
  });
});
