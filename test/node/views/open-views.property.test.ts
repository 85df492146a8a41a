import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { type Query, queryKey } from '../../../src/client/api/query.ts';
import type { ReflectorStatus } from '../../../src/client/reflector/reflector.ts';
import { WrapperError } from '../../../src/errors.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { OpenViews } from '../../../src/node/views/open-views.ts';
import { ANYONE, type EntryLease, type ViewEntry } from '../../../src/node/views/view-entry.ts';
import type { ReserveBytes } from '../../../src/node/views/view-memory.ts';
import type { ViewSource } from '../../../src/node/views/view-source.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const IDLE_MS = 60_000;
const NO_ROOM_MS = 30_000;
/** Any view remains for this long after its last request. */
const REFUSED_IDLE_MS = 1_000;
const LIMITS = { maxViews: 4, maxViewBytes: 1_000 };
const CALLERS = [ANYONE, 'a', 'b', 'c'];
/** kube-proxy makes the first of them. */
const QUERIES = Array.from({ length: 6 }, (_, n): Query => {
  const labelSelector = `n=${n}`;
  return { resource: SERVICES, namespace: '', labelSelector, fieldSelector: '', encoding: 'json' };
});

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/** A source without a reflector. */
interface FakeSource extends ViewSource {
  readonly reserve: ReserveBytes | undefined;
  isClosed: boolean;
}

/** What the views must be, from the steps alone. */
class Model {
  readonly sources: FakeSource[] = [];
  readonly leases: EntryLease[] = [];
  readonly released: EntryLease[] = [];
  /** When a request of each view has ended last. */
  readonly ended = new Map<ViewEntry, number>();
  /** When the room of each view has ended. */
  readonly refused = new Map<View, number>();
  readonly views = new OpenViews({
    ...LIMITS,
    openSource: (query, { reserve }) => this.#open(query, reserve),
    isKubeProxys: (query) => queryKey(query) === queryKey(QUERIES[0] as Query),
    shareOf: (caller) => (caller === ANYONE ? 1 / 2 : 1 / 4),
    idleMs: IDLE_MS,
    logger: pino({ level: 'silent' }),
  });

  #open(query: Query, reserve: ReserveBytes | undefined): FakeSource {
    const window = { entries: 10, bytes: 1_000 };
    const versions = new VersionAllocator(0);
    const view = new View({ resource: SERVICES, codec: CODECS.json, versions, window });
    const source: FakeSource = {
      query,
      view,
      reserve,
      projection: undefined,
      status: {} as ReflectorStatus,
      isClosed: false,
      find: () => undefined,
      close: async () => {
        source.isClosed = true;
      },
    };
    this.sources.push(source);
    return source;
  }

  release(lease: EntryLease): void {
    const at = this.leases.indexOf(lease);
    if (at >= 0) {
      this.leases.splice(at, 1);
      this.released.push(lease);
      if (lease.caller !== undefined) this.ended.set(lease.entry, performance.now());
    }
    lease.release();
  }

  reserve({ query, view, reserve }: FakeSource, bytes: number, isListing: boolean): void {
    const entry = this.views.find(query);
    const before = entry?.bytes ?? 0;
    attempt(() => reserve?.(bytes, isListing));
    if (entry !== undefined && entry.bytes > before) this.#assertShareOfBytes(entry);
    if (view.closed !== undefined && !this.refused.has(view)) {
      this.refused.set(view, performance.now());
    }
  }

  /** One of the callers of a view that has grown has room for it. */
  #assertShareOfBytes(grown: ViewEntry): void {
    const counted = QUERIES.flatMap((query) => this.views.find(query) ?? []).filter(
      (entry) => entry.isCounted,
    );
    const bytesOf = (caller: string) =>
      counted.filter((entry) => entry.countsFor(caller)).reduce((sum, { bytes }) => sum + bytes, 0);
    const callers = CALLERS.filter((caller) => grown.countsFor(caller));
    const hasRoom = callers.some((caller) => bytesOf(caller) <= LIMITS.maxViewBytes / 2);
    if (callers.length > 0) expect(hasRoom).toBe(true);
  }

  assertRight(): void {
    const open = QUERIES.flatMap((query) => this.views.find(query) ?? []);
    const running = this.sources.filter(({ isClosed }) => !isClosed);
    const served = open.filter(({ source: { view } }) => view.closed === undefined);
    const now = performance.now();
    // expect() for each of them would take a minute.
    const wrong = [
      ...this.leases.flatMap(({ entry, view }) => {
        const isServed = open.includes(entry) && !(entry.source as FakeSource).isClosed;
        return view.closed !== undefined || isServed ? [] : ['a view that is held has ended'];
      }),
      ...open.flatMap((entry) => this.#wrongOf(entry, now)),
      ...[...this.refused].flatMap(([view, at]) => {
        const isOpen = open.some(({ source }) => source.view === view);
        return isOpen === now - at < NO_ROOM_MS ? [] : ['a view without room is closed too soon'];
      }),
      ...[...this.ended].flatMap(([entry, at]) => {
        const isRightful = open.includes(entry) || entry.source.view.refusal !== undefined;
        return isRightful || now - at >= REFUSED_IDLE_MS ? [] : ['a view is closed too soon'];
      }),
      ...(running.length === served.length ? [] : ['a source runs that is not open']),
      ...this.#wrongBudget(open.filter(({ isCounted }) => isCounted)),
    ];
    if (wrong.length > 0) expect(wrong).toEqual([]);
  }

  #wrongOf(entry: ViewEntry, now: number): string[] {
    const { closed, refusal } = entry.source.view;
    const held = this.leases.filter((lease) => lease.entry === entry);
    const readers = held.filter(({ caller }) => caller !== undefined);
    const isNeeded = held.length > readers.length;
    const isIdle = closed === undefined && held.length === 0;
    const most = refusal === undefined ? IDLE_MS : REFUSED_IDLE_MS;
    const idleMs = now - (this.ended.get(entry) ?? Number.NEGATIVE_INFINITY);
    return [
      ...(entry.readers === readers.length && entry.isNeeded === isNeeded ? [] : ['leases']),
      ...(isIdle && idleMs >= most ? ['a view that nobody holds stays open'] : []),
    ];
  }

  #wrongBudget(counted: readonly ViewEntry[]): string[] {
    const { used } = this.views.budget;
    const bytes = counted.reduce((sum, entry) => sum + entry.bytes, 0);
    const isLimited = counted.length <= LIMITS.maxViews && bytes <= LIMITS.maxViewBytes;
    const isRight = used.views === counted.length && used.bytes === bytes && isLimited;
    return [
      ...(isRight ? [] : ['the budget']),
      ...CALLERS.filter((caller) => {
        const own = counted.filter((entry) => {
          const read = this.leases.filter((lease) => lease.entry === entry && !isOwn(lease));
          if (read.length === 0) return entry.lastCaller === caller;
          return read.some((lease) => lease.caller === caller);
        });
        const most = caller === ANYONE ? 2 : 1;
        return this.views.budget.viewsOf(caller) !== own.length || own.length > most;
      }).map((caller) => `the share of ${caller}`),
    ];
  }
}

const isOwn = ({ caller }: EntryLease) => caller === undefined;

type Step = (model: Model) => void;

/** Runs an action that there may be no room for. */
function attempt(act: () => void): void {
  try {
    act();
  } catch (error) {
    expect(error).toMatchObject({ code: 'LimitExceeded', status: { code: 503 } });
  }
}

const query = fc.constantFrom(...QUERIES);
const caller = fc.constantFrom(...CALLERS);
const at = <Item>(items: readonly Item[], n: number): Item | undefined => items[n % items.length];

const open = ({ sources }: Model) => sources.filter(({ isClosed }) => !isClosed);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ query, caller }).map(
      ({ query, caller }): Step =>
        ({ views, leases }) => {
          const acquire = () => leases.push(views.acquire(query, caller));
          // kube-proxy's own query always has room.
          if (query === QUERIES[0]) acquire();
          else attempt(acquire);
        },
    ),
  },
  query.map(
    (query): Step =>
      ({ views, leases }) =>
        void leases.push(views.hold(query)),
  ),
  {
    weight: 6,
    arbitrary: fc.nat().map(
      (n): Step =>
        (model) => {
          const lease = at(model.leases, n);
          if (lease !== undefined) model.release(lease);
        },
    ),
  },
  fc.nat().map(
    (n): Step =>
      ({ released }) =>
        at(released, n)?.release(),
  ),
  {
    weight: 4,
    arbitrary: fc.record({ n: fc.nat(), bytes: fc.nat(900), isListing: fc.boolean() }).map(
      ({ n, bytes, isListing }): Step =>
        (model) => {
          // Also of a view that has ended: its list may still arrive.
          const source = at([...open(model), ...model.sources], n);
          if (source !== undefined) model.reserve(source, bytes, isListing);
        },
    ),
  },
  fc.nat().map(
    (n): Step =>
      (model) => {
        const view = at(open(model), n)?.view;
        if (view?.started === false) view.startAt(1n);
      },
  ),
  fc.nat().map(
    (n): Step =>
      (model) =>
        at(open(model), n)?.view.refuse(new WrapperError('Refused', 'a reason')),
  ),
  fc.constantFrom(10, 1_000, 5_000, NO_ROOM_MS, IDLE_MS).map(
    (ms): Step =>
      () =>
        jest.advanceTimersByTime(ms),
  ),
);

test('a view is open as long as it is held, and for its idle time, within the budget; when all is released, nothing remains', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const model = new Model();
      for (const act of steps) {
        act(model);
        model.assertRight();
      }
      for (const lease of [...model.leases]) {
        model.release(lease);
        model.assertRight();
      }
      jest.advanceTimersByTime(IDLE_MS + NO_ROOM_MS);
      expect(model.views.sources).toEqual([]);
      expect(model.views.budget.used).toEqual({ views: 0, bytes: 0 });
      expect(model.sources.every(({ isClosed }) => isClosed)).toBe(true);
      expect(jest.getTimerCount()).toBe(0);
    }),
    { numRuns: propertyRuns(1_000) },
  );
});
