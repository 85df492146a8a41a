import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { REQUEST_ENDS, type RequestEnd } from '../../../src/client/api/request-end.ts';
import {
  initialChoice,
  inOrder,
  nextChoice,
  type ServerChoice,
  type ServerEvent,
} from '../../../src/client/upstream/server-choice.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const SERVERS = ['a', 'b', 'c'];
const server = fc.constantFrom(...SERVERS);
const end = fc.constantFrom(...(Object.keys(REQUEST_ENDS) as RequestEnd[]));
const since = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constant(Number.POSITIVE_INFINITY));
/** A request of now: nothing has happened since. */
const NOW = { type: 'ended', since: Number.POSITIVE_INFINITY } as const;
const servers = fc.subarray(SERVERS, { minLength: 1 });

const event: fc.Arbitrary<ServerEvent> = fc.oneof(
  fc.record({ type: fc.constant('ended' as const), server, since, end }),
  fc.record({ type: fc.constant('silent' as const), since }),
  fc.record({ type: fc.constant('unserved' as const), since }),
  fc.record({ type: fc.constant('listed' as const), server }),
  fc.record({ type: fc.constant('replaced' as const), servers }),
  fc.record({ type: fc.constant('waited' as const), isConnected: fc.boolean() }),
);

/** API servers that are held back at the start, or none. */
const HELD = ['x', 'y'];
const held = fc.subarray(HELD);

/** What must hold after an event, whatever was before. */
function assertRight(before: ServerChoice, happened: ServerEvent, after: ServerChoice): void {
  const hasMoved = after.inUse !== before.inUse;
  expect(after.servers).toContain(after.inUse);
  expect([...inOrder(after)].sort()).toEqual([...after.servers].sort());
  expect([1, 2, 4, 8, 16]).toContain(after.returnFactor);
  // A server that stays remains in use, and a new one does not answer for the old one.
  if (happened.type === 'replaced' && happened.servers.includes(before.inUse)) {
    expect([after.inUse, after.since]).toEqual([before.inUse, before.since]);
  }
  // An API server is tried only once relays have been waited for, or one has answered.
  if (after.held.length > 0) {
    expect(after.servers.some((each) => after.held.includes(each))).toBe(false);
    expect(before.held).toEqual(after.held);
  } else if (before.held.length > 0 && happened.type === 'ended') {
    expect([REQUEST_ENDS[happened.end].failover, hasMoved]).toEqual(['stays', false]);
  }
  // A relay that boots is silent.
  if (before.held.length > 0 && happened.type === 'silent') expect(hasMoved).toBe(false);
  if (happened.type === 'waited' && hasMoved) {
    expect([after.inUse, happened.isConnected]).toEqual([before.held[0], false]);
  }
  // Servers that are gone no longer count as left, and a new one is tried soon.
  if (happened.type === 'replaced') {
    if (hasMoved) expect(after.left).toBe(0);
    const isNew = happened.servers.some(
      (each) => !before.servers.concat(before.held).includes(each),
    );
    expect(after.returnFactor).toBe(isNew ? 1 : before.returnFactor);
  }
  if (!hasMoved) return;
  // Only the server in use is left, and only for what happened while it was used.
  if (happened.type === 'ended') expect(happened.server).toBe(before.inUse);
  if ('since' in happened) expect(before.since).toBeLessThanOrEqual(happened.since);
  if ('since' in happened) {
    expect([after.inUse, after.failures]).toEqual([inOrder(before)[1], 0]);
  }
}

test('in any order of events, one of the servers is in use, and it is left only for its own failures', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.nat(10)), { maxLength: 60 }), held, (steps, api) => {
      let choice = initialChoice(SERVERS, api);
      let now = 0;
      for (const [happened, ms] of steps) {
        now += ms;
        const isListed = happened.type === 'listed' && !choice.servers.includes(happened.server);
        if (isListed) continue;
        const after = nextChoice(choice, happened, { now, returnMs: 20 });
        assertRight(choice, happened, after);
        choice = after;
      }
      // Whatever was before, each is tried in turn, and an answer ends that.
      for (const expected of [...inOrder(choice).slice(1), inOrder(choice)[0]]) {
        const { inUse } = choice;
        const gone = { ...NOW, server: inUse, end: 'unreachable' } as const;
        choice = nextChoice(choice, gone, { now, returnMs: 20 });
        expect(choice.inUse).toBe(expected);
      }
      // Also the answer of a watch that was open before.
      const answered = { ...NOW, since: -1, server: choice.inUse, end: 'answered' } as const;
      expect(nextChoice(choice, answered, { now, returnMs: 20 }).left).toBe(0);
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

test('relays that all fail at the start are left for the first API server once they were waited for, and not before', () => {
  const relays = fc.integer({ min: 1, max: 4 }).map((n) => SERVERS.concat('d').slice(0, n));
  const failure = fc.constantFrom<RequestEnd>('unreachable', 'relayRefused');
  fc.assert(
    fc.property(relays, fc.array(failure, { minLength: 1, maxLength: 12 }), (first, failures) => {
      let choice = initialChoice(first, HELD);
      for (const failed of failures) {
        const happened = { ...NOW, server: choice.inUse, end: failed } as const;
        choice = nextChoice(choice, happened, { now: 1, returnMs: 20 });
        expect(first).toContain(choice.inUse);
      }
      // Each of them has its turn.
      const turns = failures.length % first.length;
      expect(choice.inUse).toBe(first[turns]);
      choice = nextChoice(choice, { type: 'waited', isConnected: false }, { now: 2, returnMs: 20 });
      expect([choice.inUse, choice.since, choice.held]).toEqual(['x', 2, []]);
      expect(choice.servers).toEqual([...first, ...HELD]);
    }),
    { numRuns: propertyRuns(200) },
  );
});

// One failure at its boot was enough, and its nodes left it while it answered them.
test('a relay that is only slow at the start stays in use, and the API servers come after all relays', () => {
  let choice = initialChoice(['a', 'b'], HELD);
  const times = { now: 1, returnMs: 20 };
  const step = (happened: ServerEvent): string => {
    choice = nextChoice(choice, happened, times);
    return choice.inUse;
  };
  const gone = (gone: string) => step({ ...NOW, server: gone, end: 'unreachable' });
  expect([gone('a'), gone('b')]).toEqual(['b', 'a']);
  expect(step({ type: 'silent', since: 1 })).toBe('a');
  expect(step({ type: 'waited', isConnected: true })).toBe('a');
  expect([choice.servers, choice.held]).toEqual([['a', 'b', ...HELD], []]);
  expect([gone('a'), gone('b')]).toEqual(['b', 'x']);
});

// A relay that joined a full one was used after up to twenty minutes.
test('a new server is tried soon, however long a full one has made the next return', () => {
  let choice = initialChoice(['a', 'b']);
  const longerAfter = (...happened: ServerEvent[]): number => {
    for (const each of happened) choice = nextChoice(choice, each, { now: 1, returnMs: 20 });
    return choice.returnFactor;
  };
  const full: ServerEvent = { ...NOW, server: 'a', end: 'unreachable' };
  expect(longerAfter({ type: 'listed', server: 'a' }, full)).toBe(2);
  expect(longerAfter({ type: 'replaced', servers: ['b', 'a'] })).toBe(2);
  expect(longerAfter({ type: 'replaced', servers: ['c', 'b', 'a'] })).toBe(1);
});
