import { describe, expect, test } from '@jest/globals';
import {
  type Atom,
  checkGuarantees,
  type Guarantee,
} from '../support/guarantees/watch-guarantees.ts';
import { type FollowOptions, follow } from '../support/recorder/follow.ts';
import { toClientRecord } from '../support/recorder/read-records.ts';
import { type RecordedObject, toRecord, toWritten } from '../support/recorder/written-object.ts';
import type { WrittenRecord } from '../support/recorder/written-record.ts';

/** One answer of a wrapper: a list, or the lines of a watch, and which process gave it. */
interface Answer {
  readonly list?: string;
  readonly lines?: readonly string[];
  readonly process?: string;
}

function slice(name: string, version: number, address: string): RecordedObject {
  const metadata = { namespace: 'default', name, resourceVersion: String(version) };
  return Object.assign({ metadata }, { endpoints: [{ addresses: [address] }] });
}

const modified = (object: RecordedObject): string => JSON.stringify({ type: 'MODIFIED', object });
const bookmark = (version: number): string =>
  JSON.stringify({ type: 'BOOKMARK', object: slice('', version, '') });

function listOf(version: number, ...items: RecordedObject[]): Answer {
  return { list: JSON.stringify({ metadata: { resourceVersion: String(version) }, items }) };
}

/** A relabel of the own node changes both slices together. */
const near = ['a', 'b'].map((name) => slice(name, 1, 'near'));
const far = ['a', 'b'].map((name, index) => slice(name, 11 + index, 'far'));
const atom: Atom = {
  keys: ['default/a', 'default/b'],
  states: [near, far].map((state) => state.map((object) => toWritten(object).digest)),
};
const first = listOf(10, ...near);
const lines = [
  ...far.map(modified),
  ...[13, 14, 15].map((version) => modified(slice('free', version, `${version}`))),
  bookmark(15),
];

/** What a client that gets these answers, one after the other, records. */
async function record(
  answers: readonly Answer[],
  mode: FollowOptions['mode'] = 'list',
): Promise<WrittenRecord[]> {
  const records: WrittenRecord[] = [];
  const stopped = new AbortController();
  const left = answers.values();
  const send = async () => {
    const { value: answer = {}, done } = left.next();
    if (done === true) stopped.abort();
    return {
      status: 200,
      process: answer.process ?? 'first',
      text: async () => answer.list ?? '',
      batches: async function* () {
        yield answer.lines ?? [];
      },
    };
  };
  const receive = (each: Parameters<typeof toRecord>[0], process: string): void => {
    if (!stopped.signal.aborted) records.push({ ...toRecord(each), process });
  };
  const options = { mode, url: 'http://127.0.0.1/slices', pauseMs: 0 };
  await follow<RecordedObject>(options, { receive }, stopped.signal, send);
  return records;
}

/** Guarantees that a second client finds violated, beside one that gets all as it was. */
async function violated(
  answers: readonly Answer[],
  mode?: FollowOptions['mode'],
): Promise<Guarantee[]> {
  const clients = new Map([
    ['steady', await record([first, { lines }])],
    ['second', await record(answers, mode)],
  ]);
  const read = [...clients].map(([name, each]) => [name, each.map(toClientRecord)] as const);
  const found = checkGuarantees(new Map(read), [atom]);
  return [...new Set(found.map(({ guarantee }) => guarantee))];
}

const [one = '', two = '', third = '', fourth = '', ...rest] = lines;

describe('recording clients and the validator', () => {
  test('find no violation without a planted bug', async () => {
    expect(await violated([first, { lines }])).toEqual([]);
  });

  test.each<[Guarantee, string, readonly string[]]>([
    ['reliable', 'an event is dropped', [one, two, fourth, ...rest]],
    ['unique', 'an event is sent twice', [one, two, third, third, fourth, ...rest]],
    ['ordered', 'two events are swapped', [one, two, fourth, third, ...rest]],
    ['bookmarkable', 'a bookmark is sent early', [one, two, bookmark(13), third, fourth, ...rest]],
  ])('find that it is not %s when %s', async (guarantee, _what, changed) => {
    expect(await violated([first, { lines: changed }])).toContain(guarantee);
  });

  test('find that it is not resumable when a version of an earlier process is accepted', async () => {
    const next = { lines: [bookmark(600)], process: 'second' };
    expect(await violated([first, { lines }, next])).toContain('resumable');
  });

  test('find that it is not atomic when a list is taken within a change', async () => {
    const [a, , , b] = [...far, ...near];
    const torn = listOf(12, a as RecordedObject, b as RecordedObject);
    expect(await violated([first, torn], 'lists')).toContain('atomic');
  });
});
