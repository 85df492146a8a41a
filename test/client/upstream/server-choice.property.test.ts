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
const since = fc.integer({ min: -20, max: 20 });
const servers = fc.subarray(SERVERS, { minLength: 1 });

const event: fc.Arbitrary<ServerEvent> = fc.oneof(
  fc.record({ type: fc.constant('ended' as const), server, end }),
  fc.record({ type: fc.constant('silent' as const), since }),
  fc.record({ type: fc.constant('unserved' as const), since }),
  fc.record({ type: fc.constant('listed' as const), server }),
  fc.record({ type: fc.constant('replaced' as const), servers }),
);

/** What must hold after an event, whatever was before. */
function assertRight(before: ServerChoice, happened: ServerEvent, after: ServerChoice): void {
  const hasMoved = after.inUse !== before.inUse;
  expect(after.servers).toContain(after.inUse);
  expect([...inOrder(after)].sort()).toEqual([...after.servers].sort());
  expect([1, 2, 4, 8, 16]).toContain(after.longer);
  // A server that stays remains in use, and a new one does not answer for the old one.
  if (happened.type === 'replaced' && happened.servers.includes(before.inUse)) {
    expect([after.inUse, after.since]).toEqual([before.inUse, before.since]);
  }
  if (!hasMoved) return;
  // Only the server in use is left, and only for what happened while it was used.
  if (happened.type === 'ended') expect(happened.server).toBe(before.inUse);
  if ('since' in happened) expect(before.since).toBeLessThanOrEqual(happened.since);
  if (happened.type === 'ended' || 'since' in happened) {
    expect([after.inUse, after.failures]).toEqual([inOrder(before)[1], 0]);
  }
}

test('in any order of events, one of the servers is in use, and it is left only for its own failures', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.nat(10)), { maxLength: 60 }), (steps) => {
      let choice = initialChoice(SERVERS);
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
        const gone = { type: 'ended', server: inUse, end: 'unreachable' } as const;
        choice = nextChoice(choice, gone, { now, returnMs: 20 });
        expect(choice.inUse).toBe(expected);
      }
      const answered = { type: 'ended', server: choice.inUse, end: 'answered' } as const;
      expect(nextChoice(choice, answered, { now, returnMs: 20 }).left).toBe(0);
    }),
    { numRuns: propertyRuns(1_000) },
  );
});
