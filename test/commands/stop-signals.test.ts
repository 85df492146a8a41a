import { afterEach, expect, test } from '@jest/globals';
import { listenForSignals } from '../../src/commands/run/stop-signals.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const before = SIGNALS.map((signal) => process.listeners(signal));

afterEach(() => {
  for (const [index, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (before[index]?.includes(listener) !== true) process.off(signal, listener);
    }
  }
});

test('the first SIGTERM stops, and the second one does not wait any longer', () => {
  const { stop, now } = listenForSignals();
  process.emit('SIGTERM');
  expect([stop.aborted, now.aborted]).toEqual([true, false]);
  process.emit('SIGTERM');
  expect(now.aborted).toBe(true);
});
