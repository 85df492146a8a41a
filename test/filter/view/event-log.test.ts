import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EventLog, type LogEntry } from '../../../src/filter/view/event-log.ts';

const START = 10n;

function entryOf(version: bigint, size = 1): LogEntry {
  return { version, type: 'MODIFIED', object: Buffer.alloc(size) };
}

test('clear() notifies every watcher and ends its position, even at the end of the log', () => {
  const log = new EventLog(START, () => ({ entries: 10, bytes: 100 }));
  for (const version of [20n, 30n]) log.append(entryOf(version));
  log.commit();
  const { end } = log;
  let notified = 0;
  log.subscribe(() => notified++);
  log.clear();
  expect([log.size, log.bytes, notified, log.contains(end)]).toEqual([0, 0, 1, false]);
  const positions = [START, 20n, 30n].map((version) => log.positionAfter(version));
  expect(positions).toEqual([undefined, undefined, undefined]);
});

test('notifies its listeners once per commit, after all its changes', () => {
  const log = new EventLog(START, () => ({ entries: 10, bytes: 100 }));
  const seen: bigint[] = [];
  const stop = log.subscribe(() => seen.push(log.version));
  for (const version of [20n, 30n]) log.append(entryOf(version));
  expect(seen).toEqual([]);
  log.commit();
  log.commit();
  stop();
  log.append(entryOf(40n));
  log.commit();
  expect(seen).toEqual([30n]);
});

/** How far the version rises, and the size of a change; null: there is none. */
const step = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.option(fc.nat(100)));
/** Many changes before: the array of entries is copied in large steps. */
const before = fc.constantFrom(0, 0, 1_500).map((n) => Array<[number, number]>(n).fill([1, 1]));

test.each([
  ['of this process, only from a version that the log has issued', false],
  ['of the API server, from every version that the log has reached', true],
])(
  'with versions %s, a watch gets each later entry of the window once, in order',
  (_, isApiServers) => {
    const property = fc.property(
      before,
      fc.array(step, { maxLength: 30, size: 'max' }),
      fc.nat(10),
      fc.nat(500),
      (first, steps, entries, bytes) => {
        const log = new EventLog(START, () => ({ entries, bytes }), isApiServers);
        const window: LogEntry[] = [];
        let [reached, base, newest, dropped, held] = [START, START, START, 0, 0];
        for (const [more, size] of [...first, ...steps]) {
          reached += BigInt(more);
          if (isApiServers) log.reach(reached);
          if (size !== null) {
            const entry = entryOf(reached, size);
            newest = reached;
            held += size;
            window.push(entry);
            log.append(entry);
            // The newest change stays, whatever its size.
            while (window.length > 1 && (window.length > entries || held > bytes)) {
              const [{ version, object }] = window.splice(0, 1) as [LogEntry];
              [base, held, dropped] = [version, held - object.length, dropped + 1];
            }
          }
          log.commit();
        }
        if (isApiServers) newest = reached;
        const { end } = log;
        expect([log.version, log.size, log.bytes]).toEqual([newest, window.length, held]);
        expect([log.contains(dropped - 1), log.contains(dropped)]).toEqual([false, true]);
        for (let from = base - 2n; from < newest + 3n; from++) {
          const isIssued = from === base || window.some(({ version }) => version === from);
          const isKnown = from >= base && from <= newest && (isIssued || isApiServers);
          const position = log.positionAfter(from);
          expect([from, position !== undefined]).toEqual([from, isKnown]);
          if (position === undefined) continue;
          const seen = Array.from({ length: end - position }, (_, n) => log.at(position + n));
          expect(seen).toEqual(window.filter(({ version }) => version > from));
        }
      },
    );
    fc.assert(property);
  },
);
