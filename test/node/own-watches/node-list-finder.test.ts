import { afterEach, expect, jest, test } from '@jest/globals';
import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import type { ReflectorContext } from '../../../src/client/reflector/reflector-options.ts';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';
import { NodeListFinder } from '../../../src/node/own-watches/node-list-finder.ts';
import type { FoundNodes } from '../../../src/topology/state/node-lookups.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { createSnapshots } from '../../support/snapshots.ts';
import { useState } from '../../support/wrapper/state-fixture.ts';

const REQUEST = { names: ['a'], hostnames: [], version: '' };

afterEach(() => {
  jest.useRealTimers();
});

/** A look-up while the disk is busy, and the API server in some condition. */
async function lookUp(condition: 'reachable' | 'unreachable') {
  const { logger, lines } = recordingLogger();
  const snapshots = closedLater(createSnapshots({ ...useState(), logger }));
  const disk = Promise.withResolvers<void>();
  closedLater({ close: async () => disk.resolve() });
  void snapshots.writer.inTurn(() => disk.promise);
  const serverState = { condition: { name: condition } };
  let requests = 0;
  const request = async (): Promise<never> => {
    requests++;
    throw new Error('no');
  };
  const upstream = { serverState, request } as unknown as Upstream;
  const context = { upstream, snapshots, readLimits: DEFAULT_READ_LIMITS, logger };
  const finder = closedLater(
    new NodeListFinder(context as unknown as ReflectorContext, upstream, systemClock),
  );
  const found: FoundNodes[] = [];
  const find = () => finder.find(REQUEST, (nodes) => void found.push(nodes));
  return { find, found, disk, serverState, lines, requests: () => requests };
}

// What it had was dropped after 2 s: another endpoint was selected until the API server answered.
test('a slow disk is waited for while the API server does not answer, which is logged', async () => {
  const { find, found, disk, lines } = await lookUp('unreachable');
  find();
  await eventually(() => lines.length, 1);
  expect(lines[0]?.msg).toMatch(/^the disk is slow: .* zones of Nodes .*stateDir$/);
  expect(found).toEqual([]);
  disk.resolve();
  await eventually(
    () => found,
    [{ error: 'the API server does not answer', isUnasked: true, remembered: new Map() }],
  );
});

// Views wait for look-ups: without an end, a node that is cut off showed nothing of the slices that it had.
test('a disk that never answers ends the wait of a node that is cut off after half a minute, once', async () => {
  const { find, found } = await lookUp('unreachable');
  jest.useFakeTimers();
  find();
  await jest.advanceTimersByTimeAsync(29_500);
  expect(found).toEqual([]);
  await jest.advanceTimersByTimeAsync(1_000);
  const nothing = {
    error: 'the API server does not answer',
    isUnasked: true,
    remembered: new Map(),
  };
  expect(found).toEqual([nothing]);
  find();
  await jest.advanceTimersByTimeAsync(0);
  expect(found).toEqual([nothing, nothing]);
});

test('a disk that never answers keeps no look-up from an API server that answers', async () => {
  const { find, found, serverState, requests } = await lookUp('unreachable');
  find();
  serverState.condition.name = 'reachable';
  await eventually(() => found.length, 1);
  expect(requests()).toBe(1);
  // The next one does not wait again.
  find();
  await new Promise(setImmediate);
  expect(requests()).toBe(2);
});
