import { beforeEach, describe, expect, test } from '@jest/globals';
import { ReturnDelayScheduler } from '../../../src/filter/projection/return-delay-scheduler.ts';
import { ManualClock } from '../../support/projection/topology.ts';

const DELAY = 1000;

let clock: ManualClock;
let delays: ReturnDelayScheduler;
/** The calls, as `<time> <services>`. */
let calls: string[];
/** Keys that are ready, by port, as the next decision finds them. */
let ready: Record<string, number>;

beforeEach(() => {
  clock = new ManualClock();
  calls = [];
  ready = {};
  delays = new ReturnDelayScheduler(clock, (services) => {
    calls.push(`${clock.now()} ${services.join(' ')}`);
    for (const service of services) decide(service);
  });
});

/** Decides a Service; returns the key chosen for each port. */
function decide(service: string, delayMs = DELAY): number[] {
  return delays.decide(service, delayMs, (prefer) =>
    Object.entries(ready).map(([port, mask]) => prefer(port, mask)),
  );
}

/** Traffic goes to the second key, and from now on the first is ready too. */
function startWaiting(service: string): void {
  ready = { http: 0b10 };
  decide(service);
  ready = { http: 0b11 };
  decide(service);
}

describe('ReturnDelayScheduler', () => {
  test('decides a Service again when a nearer key has waited for the whole delay', () => {
    ready = { http: 0b10 };
    decide('web');
    clock.pass(100);
    ready = { http: 0b11 };
    expect(decide('web')).toEqual([1]);
    clock.pass(DELAY - 1);
    expect(calls).toEqual([]);
    clock.pass(1);
    expect(calls).toEqual(['1100 web']);
    expect(decide('web')).toEqual([0]);
    expect(clock.waiting).toBe(0);
  });

  test('one timer serves all Services, each at its time', () => {
    ready = { http: 0b10 };
    decide('web');
    decide('db');
    ready = { http: 0b11 };
    decide('web');
    clock.pass(400);
    decide('db');
    expect(clock.waiting).toBe(1);
    clock.pass(5000);
    expect(calls).toEqual(['1000 web', '1400 db']);
    expect(clock.waiting).toBe(0);
  });

  // When a site comes back, thousands of Services are due within a short time, and each run checks all of them.
  test('Services that are due within a short time are decided together, none before its time', () => {
    const names = Array.from({ length: 50 }, (_, index) => `web-${index}`);
    ready = { http: 0b10 };
    for (const name of names) decide(name);
    ready = { http: 0b11 };
    for (const name of names) {
      decide(name);
      clock.pass(10);
    }
    clock.pass(DELAY);
    const services = calls.map((line) => line.split(' ').slice(1));
    expect(services.flat()).toEqual(names);
    expect(services.map(({ length }) => length)).toEqual([1, 10, 10, 10, 10, 9]);
    expect(calls[1]).toMatch(/^1100 web-1 .*web-10$/);
    expect(clock.waiting).toBe(0);
  });

  test('a Service that is due before the one the timer is set for is not late', () => {
    ready = { http: 0b10 };
    decide('slow', 60_000);
    decide('fast', 1000);
    ready = { http: 0b11 };
    decide('slow', 60_000);
    decide('fast', 1000);
    clock.pass(1000);
    expect(calls).toEqual(['1000 fast']);
  });

  test('a port that is removed while it waits is not waited for', () => {
    startWaiting('web');
    ready = { web: 0b01 };
    expect(decide('web')).toEqual([0]);
    expect(clock.waiting).toBe(0);
    clock.pass(10 * DELAY);
    expect(calls).toEqual([]);
  });

  test('each port waits by itself', () => {
    ready = { http: 0b10, metrics: 0b10 };
    decide('web');
    ready = { http: 0b11, metrics: 0b10 };
    decide('web');
    clock.pass(600);
    ready = { http: 0b11, metrics: 0b11 };
    expect(decide('web')).toEqual([1, 1]);
    clock.pass(400);
    expect(decide('web')).toEqual([0, 1]);
    clock.pass(600);
    expect(decide('web')).toEqual([0, 0]);
    expect(calls).toEqual(['1000 web', '1600 web']);
  });

  test('a nearer key that is no longer ready leaves no timer behind', () => {
    startWaiting('web');
    expect(clock.waiting).toBe(1);
    ready = { http: 0b10 };
    decide('web');
    expect(clock.waiting).toBe(0);
  });

  test('a waiting Service is called at its time, whatever happens to others meanwhile', () => {
    ready = { http: 0b10 };
    for (const service of ['web', 'db', 'idle']) decide(service);
    ready = { http: 0b11 };
    decide('web');
    decide('db');
    ready = { http: 0b10 };
    decide('idle');
    decide('db');
    clock.pass(DELAY);
    expect(calls).toEqual(['1000 web']);
  });

  // If the time of the earlier timer still counted, a later time would never be scheduled.
  test('after a time in which no Service waited, the next one is called', () => {
    startWaiting('web');
    ready = { http: 0b10 };
    decide('web');
    clock.pass(DELAY / 2);
    ready = { http: 0b11 };
    decide('web');
    clock.pass(DELAY);
    expect(calls).toEqual(['1500 web']);
  });

  test('a Service that is not decided when it is due, because its policy is pending, is called once', () => {
    delays = new ReturnDelayScheduler(clock, (services) => {
      const count = calls.push(`${clock.now()} ${services.join(' ')}`);
      if (count > 9) throw new Error('called again and again');
    });
    startWaiting('web');
    clock.pass(DELAY);
    expect(calls).toEqual(['1000 web']);
    expect(clock.waiting).toBe(0);
  });

  test('a forgotten Service leaves no timer behind, and no delay applies to its next decision', () => {
    startWaiting('web');
    delays.forget('web');
    expect(clock.waiting).toBe(0);
    expect(decide('web')).toEqual([0]);
  });

  test('no timer runs after close()', () => {
    startWaiting('web');
    delays.close();
    expect(clock.waiting).toBe(0);
    clock.pass(10 * DELAY);
    expect(calls).toEqual([]);
  });
});
