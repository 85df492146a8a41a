import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WriteAhead } from '../../../src/client/snapshot/write-ahead.ts';
import type { OwnNodeFacts } from '../../../src/filter/codec/codec.ts';
import type { Change } from '../../../src/filter/objects/change.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';

let shown: string[];
/** Ends the writes that are under way. */
let finish: (() => void)[];
let node: WriteAhead;
let lines: readonly LogLine[];
let fails: boolean;

beforeEach(() => {
  jest.useFakeTimers();
  const recorded = recordingLogger();
  lines = recorded.lines;
  [shown, finish, fails] = [[], [], false];
  node = new WriteAhead({
    write: () => new Promise((resolve) => void finish.push(resolve)),
    handler: {
      onChanges: (changes) => {
        shown.push(...changes.map(nameOf));
        if (fails) throw new TypeError('undefined is no object');
      },
      onSynced: () => void shown.push('synced'),
    },
    logger: recorded.logger,
  });
});

afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

const nameOf = (change: Change<OwnNodeFacts>) =>
  change.type === 'DELETED' ? 'deleted' : `${change.facts.identity}${change.facts.resourceVersion}`;

const change = (identity: string, resourceVersion = ''): Change<OwnNodeFacts> => ({
  type: 'MODIFIED',
  key: 'edge-1',
  object: Buffer.alloc(0),
  facts: {
    name: 'edge-1',
    namespace: '',
    uid: '',
    resourceVersion,
    labels: new Map(),
    annotations: new Map(),
    identity,
  },
});
const deleted: Change<OwnNodeFacts> = { type: 'DELETED', key: 'edge-1' };

/** Ends the write that is under way, and lets what waits for it run. */
async function written(): Promise<void> {
  finish.shift()?.();
  await jest.advanceTimersByTimeAsync(0);
}

/** The Node `a` is on disk and is shown. */
async function begin(): Promise<void> {
  node.onChanges([change('a')]);
  node.onSynced();
  expect(shown).toEqual([]);
  await written();
  expect(shown.splice(0)).toEqual(['a', 'synced']);
}

describe('the own Node', () => {
  test('is shown immediately when nothing changes that a kube-proxy ends at', async () => {
    await begin();
    node.onChanges([change('a', '2')]);
    node.onSynced();
    expect(shown).toEqual(['a2', 'synced']);
    expect(finish).toEqual([]);
  });

  test('is shown in order, each identity after a write that began with it', async () => {
    await begin();
    node.onChanges([change('b')]);
    node.onChanges([change('b', '2')]);
    node.onChanges([deleted]);
    node.onSynced();
    expect(shown).toEqual([]);
    await written();
    expect(shown).toEqual(['b', 'b2']);
    await written();
    expect(shown).toEqual(['b', 'b2', 'deleted', 'synced']);
    expect(finish).toEqual([]);
  });

  test('is written when a list shows for the first time that it does not exist', async () => {
    node.onChanges([]);
    node.onSynced();
    expect(shown).toEqual([]);
    await written();
    expect(shown).toEqual(['synced']);
  });

  test('waits a second at most for a disk that hangs, and the log says so', async () => {
    await begin();
    node.onChanges([change('b')]);
    await jest.advanceTimersByTimeAsync(999);
    expect(shown).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(shown).toEqual(['b']);
    expect(lines.at(-1)?.msg).toContain('the own Node is shown before it is on disk');
  });

  test('does not wait while more than 16 batches wait, however many come', async () => {
    await begin();
    const versions = Array.from({ length: 40 }, (_, at) => String(at));
    for (const version of versions) node.onChanges([change('b', version)]);
    expect(shown).toEqual(versions.map((version) => `b${version}`));
    await written();
    expect(finish).toEqual([]);
  });

  // The process ended: nobody waits for what is shown after a write.
  test('is shown on when a bug of ours fails in the middle, and the log has it', async () => {
    fails = true;
    node.onChanges([change('a')]);
    node.onChanges([change('b')]);
    node.onSynced();
    await written();
    await written();
    expect(shown).toEqual(['a', 'b', 'synced']);
    fails = false;
    node.onChanges([change('b', '2')]);
    expect(shown.at(-1)).toBe('b2');
    expect(lines.map(({ level, msg }) => [level, msg.slice(0, 37)])).toEqual(
      Array(2).fill([50, 'a bug of kube-proxy-wrapper itself: a']),
    );
    expect(lines[0]?.err).toMatchObject({ type: 'TypeError' });
  });
});
