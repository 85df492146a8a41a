import { expect, test } from '@jest/globals';
import { SingleFlight } from '../../src/util/single-flight.ts';

test('callers share a run under way, each with its result, and the next caller starts a new one', async () => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const work = async () => {
    await Promise.resolve();
    return ++runs;
  };
  expect(await Promise.all([flight.run(work), flight.run(work)])).toEqual([1, 1]);
  expect(flight.current()).toBeUndefined();
  expect(await flight.run(work)).toBe(2);
});

test('a failure is shared too, and the next caller starts a new run', async () => {
  const flight = new SingleFlight<string>();
  const fail = async () => {
    throw new Error('failed');
  };
  const outcomes = await Promise.allSettled([flight.run(fail), flight.run(async () => 'unused')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await flight.run(async () => 'ok')).toBe('ok');
});

test('runs for different keys are not shared', async () => {
  const flight = new SingleFlight<string>();
  const running = flight.run(() => new Promise(() => {}), 'a');
  expect(flight.current('a')).toBe(running);
  expect(await flight.run(async () => 'b', 'b')).toBe('b');
});
