import { beforeEach, describe, expect, test } from '@jest/globals';
import { DueServices } from '../../../src/filter/projection/due-services.ts';
import { ManualClock } from '../../support/projection/topology.ts';

let clock: ManualClock;
let due: DueServices;
/** The calls, as `<time> <services>`. */
let calls: string[];

beforeEach(() => {
  clock = new ManualClock();
  calls = [];
  due = new DueServices(clock, (services) => calls.push(`${clock.now()} ${services.join(' ')}`));
});

describe('DueServices', () => {
  test('one timer serves all Services, each at its time', () => {
    due.set('web', 1000);
    clock.pass(400);
    due.set('db', 1400);
    expect(clock.waiting).toBe(1);
    clock.pass(599);
    expect(calls).toEqual([]);
    clock.pass(5000);
    expect(calls).toEqual(['1000 web', '1400 db']);
    expect(clock.waiting).toBe(0);
  });

  // When a site comes back, thousands of Services are due within a short time, and each run checks all of them.
  test('Services that are due within a short time are called together, none before its time', () => {
    const names = Array.from({ length: 50 }, (_, index) => `web-${index}`);
    for (const [index, name] of names.entries()) due.set(name, 1000 + 10 * index);
    clock.pass(2000);
    const services = calls.map((line) => line.split(' ').slice(1));
    expect(services.flat()).toEqual(names);
    expect(services.map(({ length }) => length)).toEqual([1, 10, 10, 10, 10, 9]);
    expect(calls[1]).toMatch(/^1100 web-1 .*web-10$/);
    expect(clock.waiting).toBe(0);
  });

  test('a Service that is due before the one the timer is set for is not late', () => {
    due.set('slow', 60_000);
    due.set('fast', 1000);
    clock.pass(1000);
    expect(calls).toEqual(['1000 fast']);
  });

  test('a Service is called at its time, whatever happens to others meanwhile', () => {
    due.set('web', 1000);
    due.set('db', 1000);
    due.set('db', undefined);
    clock.pass(5000);
    expect(calls).toEqual(['1000 web']);
    expect(clock.waiting).toBe(0);
  });

  // If the time of the earlier timer still counted, a later time would never be scheduled.
  test('after a Service that is no longer due, the next one is called', () => {
    due.set('web', 1000);
    due.set('web', undefined);
    clock.pass(500);
    due.set('web', 1500);
    clock.pass(1000);
    expect(calls).toEqual(['1500 web']);
  });

  test('a Service that is not set again when it is called, because its policy is pending, is called once', () => {
    due.set('web', 1000);
    clock.pass(10_000);
    expect(calls).toEqual(['1000 web']);
    expect(clock.waiting).toBe(0);
  });

  test('no timer runs after close()', () => {
    due.set('web', 1000);
    due.close();
    expect(clock.waiting).toBe(0);
  });
});
