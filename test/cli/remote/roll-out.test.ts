import { expect, test } from '@jest/globals';
import type { AskedNode } from '../../../cli/remote/asked-node.ts';
import { newestRuns, rollOutLines } from '../../../cli/remote/roll-out.ts';

const HOUR_MS = 3_600_000;

/** A node whose Pod that answers runs these settings since then, with its newest Pod made then, in hours ago. */
function node(settings: string, created: number, newest = created): AskedNode {
  const made = (hours: number): number => Date.now() - hours * HOUR_MS;
  const status = { version: '1.0.0', settings };
  const times = { created: made(created), newest: made(newest) };
  return { daemonSet: 'kube-proxy-wrapper', status, ...times } as unknown as AskedNode;
}

test('a roll-out goes on that has just made a Pod, whether or not it answers, and is stuck without one', () => {
  const before = node('a', 3);
  const linesWith = (...others: AskedNode[]): string[] =>
    rollOutLines(before, newestRuns([before, ...others])).map(({ text }) => text);
  expect(linesWith(node('b', 2), node('a', 3, 0.01))).toEqual([]);
  expect(linesWith(node('b', 2), node('a', 3, 1))).toEqual([
    'still runs version 1.0.0, settings a; the newest Pod runs version 1.0.0, settings b',
  ]);
});
