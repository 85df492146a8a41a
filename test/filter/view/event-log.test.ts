import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EventLog } from '../../../src/filter/view/event-log.ts';

function filled(versions: readonly bigint[], entries = 1000, bytes = 1_000_000): EventLog {
  const log = new EventLog(10n, () => ({ entries, bytes }));
  for (const version of versions) {
    log.append({ version, type: 'MODIFIED', object: Buffer.alloc(100) });
    log.commit();
  }
  return log;
}

describe('EventLog', () => {
  test('keeps the newest change even if it is larger than the window', () => {
    const log = filled([20n, 30n], 1000, 50);
    expect([log.size, log.bytes]).toEqual([1, 100]);
    expect(log.positionAfter(20n)).toBe(1);
    expect(log.positionAfter(10n)).toBeUndefined();
  });

  test('clear() notifies every watcher and ends its position, even at the end of the log', () => {
    const log = filled([20n, 30n]);
    const { end } = log;
    let notified = 0;
    log.subscribe(() => notified++);
    log.clear();
    expect([log.size, log.bytes, notified, log.holds(end)]).toEqual([0, 0, 1, false]);
    expect([10n, 20n, 30n].map((version) => log.positionAfter(version))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('a watch continues after exactly the version that it requests', () => {
    const log = filled([20n, 30n, 40n]);
    expect(log.positionAfter(10n)).toBe(0);
    expect(log.positionAfter(20n)).toBe(1);
    expect(log.positionAfter(40n)).toBe(3);
    const others = [9n, 11n, 25n, 41n].map((version) => log.positionAfter(version));
    expect(others).toEqual([undefined, undefined, undefined, undefined]);
    expect(log.at(1)?.version).toBe(30n);
    expect(log.at(3)).toBeUndefined();
    expect(log.version).toBe(40n);
  });

  test('a watch continues from the state just before the window, but not from an older one', () => {
    const log = filled([20n, 30n, 40n], 2);
    expect(log.positionAfter(10n)).toBeUndefined();
    expect(log.positionAfter(20n)).toBe(1);
    expect(log.holds(0)).toBe(false);
    expect(log.holds(1)).toBe(true);
    expect(log.at(1)?.version).toBe(30n);
  });

  test('is bounded by bytes as well as by number, and releases dropped entries', () => {
    const log = filled([20n, 30n, 40n], 1000, 250);
    expect(log.at(0)).toBeUndefined();
    expect(log.at(1)?.version).toBe(30n);
    expect(log.positionAfter(10n)).toBeUndefined();
    expect(log.positionAfter(20n)).toBe(1);
  });

  test('notifies its listeners once per commit, after all its changes', () => {
    const log = new EventLog(10n, () => ({ entries: 10, bytes: 1000 }));
    const seen: (bigint | undefined)[] = [];
    const stop = log.subscribe(() => seen.push(log.version));
    log.append({ version: 20n, type: 'ADDED', object: Buffer.alloc(1) });
    log.append({ version: 30n, type: 'ADDED', object: Buffer.alloc(1) });
    expect(seen).toEqual([]);
    log.commit();
    stop();
    log.commit();
    expect(seen).toEqual([30n]);
  });

  test('a watch from the start of the window gets every later entry, once and in order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5000 }),
        fc.integer({ min: 1, max: 300 }),
        (n, bound) => {
          const versions = Array.from({ length: n }, (_, index) => BigInt(20 + index));
          const log = filled(versions, bound);
          const start = n > bound ? BigInt(20 + n - bound - 1) : 10n;
          const position = log.positionAfter(start);
          const rest = versions.filter((version) => version > start);
          expect(position).toBeDefined();
          const seen: bigint[] = [];
          for (let at = position ?? 0; at < log.end; at++) seen.push(log.at(at)?.version ?? -1n);
          expect(seen).toEqual(rest);
        },
      ),
      { numRuns: 50 },
    );
  });
});

test("with the API server's versions, a watch continues from every version that the log has reached", () => {
  const step = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean());
  const property = fc.property(
    fc.array(step, { maxLength: 30, size: 'max' }),
    fc.nat(10),
    (steps, entries) => {
      const log = new EventLog(10n, () => ({ entries, bytes: 1_000_000 }), true);
      const changes: bigint[] = [];
      let version = 10n;
      for (const [more, isChange] of steps) {
        version += BigInt(more);
        log.reach(version);
        if (isChange) {
          changes.push(version);
          log.append({ version, type: 'MODIFIED', object: Buffer.alloc(1) });
        }
        log.commit();
      }
      expect(log.version).toBe(version);
      const base = [10n, ...changes][changes.length - log.size] as bigint;
      for (let from = 8n; from < version + 3n; from++) {
        const isKnown = from >= base && from <= version;
        const before = changes.filter((each) => each <= from).length;
        expect(log.positionAfter(from)).toBe(isKnown ? before : undefined);
      }
    },
  );
  fc.assert(property);
});
