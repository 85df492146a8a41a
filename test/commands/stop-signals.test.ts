import { afterEach, expect, test } from '@jest/globals';
import { listenForSignals } from '../../src/commands/stop-signals.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const before = SIGNALS.map((signal) => process.listeners(signal));

afterEach(() => {
  for (const [index, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (before[index]?.includes(listener) !== true) process.off(signal, listener);
    }
  }
});

/** Counts the calls from when the handler is set. */
function countReloads(signals: ReturnType<typeof listenForSignals>): () => number {
  let count = 0;
  signals.onHangup(() => count++);
  return () => count;
}

test('each SIGHUP is handled', () => {
  const reloads = countReloads(listenForSignals());
  expect(reloads()).toBe(0);
  process.emit('SIGHUP');
  process.emit('SIGHUP');
  expect(reloads()).toBe(2);
});

// A start can wait for another process. Settings that changed meanwhile were not read.
test('a SIGHUP before the handler is set is handled once, when it is set', () => {
  const signals = listenForSignals();
  process.emit('SIGHUP');
  process.emit('SIGHUP');
  expect(countReloads(signals)()).toBe(1);
});

test('the first SIGTERM stops, and the second one does not wait any longer', () => {
  const { stop, now } = listenForSignals();
  process.emit('SIGTERM');
  expect([stop.aborted, now.aborted]).toEqual([true, false]);
  process.emit('SIGTERM');
  expect(now.aborted).toBe(true);
});
