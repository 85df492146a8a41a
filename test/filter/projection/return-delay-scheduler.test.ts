import { beforeEach, describe, expect, test } from '@jest/globals';
import { ReturnDelayScheduler } from '../../../src/filter/projection/return-delay-scheduler.ts';
import { ManualClock } from '../../support/projection/topology.ts';

const DELAY = 1000;

let clock: ManualClock;
let delays: ReturnDelayScheduler;
/** What was due, as `<time> <services>`. */
let woken: string[];
/** Keys that are ready, by port, as the next decision finds them. */
let ready: Record<string, number>;

beforeEach(() => {
  clock = new ManualClock();
  woken = [];
  ready = {};
  delays = new ReturnDelayScheduler(clock, (services) => {
    woken.push(`${clock.now()} ${services.join(' ')}`);
    for (const service of services) decide(service);
  });
});

/** Decides about a Service; returns the key chosen for each port. */
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
    expect(woken).toEqual([]);
    clock.pass(1);
    expect(woken).toEqual(['1100 web']);
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
    expect(woken).toEqual(['1000 web', '1400 db']);
    expect(clock.waiting).toBe(0);
  });

  // A site that comes back makes thousands of Services due a moment apart, and each look is at all that wait.
  test('Services that are due a moment apart are decided together, and none before its time', () => {
    const names = Array.from({ length: 50 }, (_, index) => `web-${index}`);
    ready = { http: 0b10 };
    for (const name of names) decide(name);
    ready = { http: 0b11 };
    for (const name of names) {
      decide(name);
      clock.pass(10);
    }
    clock.pass(DELAY);
    const services = woken.map((line) => line.split(' ').slice(1));
    expect(services.flat()).toEqual(names);
    expect(services.map(({ length }) => length)).toEqual([1, 10, 10, 10, 10, 9]);
    expect(woken[1]).toMatch(/^1100 web-1 .*web-10$/);
    expect(clock.waiting).toBe(0);
  });

  test('a Service that is due earlier than the one waited for is not late', () => {
    ready = { http: 0b10 };
    decide('slow', 60_000);
    decide('fast', 1000);
    ready = { http: 0b11 };
    decide('slow', 60_000);
    decide('fast', 1000);
    clock.pass(1000);
    expect(woken).toEqual(['1000 fast']);
  });

  test('a port that goes away while it waits is not waited for', () => {
    startWaiting('web');
    ready = { web: 0b01 };
    expect(decide('web')).toEqual([0]);
    expect(clock.waiting).toBe(0);
    clock.pass(10 * DELAY);
    expect(woken).toEqual([]);
  });

  test('several ports wait each by itself', () => {
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
    expect(woken).toEqual(['1000 web', '1600 web']);
  });

  test('what comes and goes leaves no timer behind', () => {
    startWaiting('web');
    expect(clock.waiting).toBe(1);
    ready = { http: 0b10 };
    decide('web');
    expect(clock.waiting).toBe(0);
  });

  test('a Service that waits is called in its time, whatever becomes of others meanwhile', () => {
    ready = { http: 0b10 };
    for (const service of ['web', 'db', 'idle']) decide(service);
    ready = { http: 0b11 };
    decide('web');
    decide('db');
    ready = { http: 0b10 };
    decide('idle');
    decide('db');
    clock.pass(DELAY);
    expect(woken).toEqual(['1000 web']);
  });

  // If the time that was waited for before counted still, what is due after it would never be called.
  test('when none has waited for a while, the next one that does is called', () => {
    startWaiting('web');
    ready = { http: 0b10 };
    decide('web');
    clock.pass(DELAY / 2);
    ready = { http: 0b11 };
    decide('web');
    clock.pass(DELAY);
    expect(woken).toEqual(['1500 web']);
  });

  test('a Service that is not decided when it is due, for its policy waits, is called once', () => {
    delays = new ReturnDelayScheduler(clock, (services) => {
      const calls = woken.push(`${clock.now()} ${services.join(' ')}`);
      if (calls > 9) throw new Error('called again and again');
    });
    startWaiting('web');
    clock.pass(DELAY);
    expect(woken).toEqual(['1000 web']);
    expect(clock.waiting).toBe(0);
  });

  test('a Service that is forgotten leaves no timer behind, and its next choice is free', () => {
    startWaiting('web');
    delays.forget('web');
    expect(clock.waiting).toBe(0);
    expect(decide('web')).toEqual([0]);
  });

  test('nothing is waited for after the end', () => {
    startWaiting('web');
    delays.close();
    expect(clock.waiting).toBe(0);
    clock.pass(10 * DELAY);
    expect(woken).toEqual([]);
  });
});
