import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { propertyRuns } from '../../support/property-runs.ts';
import {
  behind,
  bookmark,
  event,
  list,
  object,
  refusal,
  type SimulatedAnswer,
  type SimulatedRequest,
} from '../../support/reflector/simulated-server.ts';
import { type Simulation, useSimulation } from '../../support/reflector/simulation.ts';

/*
 * API servers before 1.31, each with its own cache. The cache of a collection without changes follows etcd only at its
 * progress notifications, by default every 10 minutes. So a version of etcd, or of another API server, is not reached
 * for that long. Seen on kube-apiserver 1.30.4: 504 after 3 s, and the same list without a version from etcd in 10 ms.
 * That was taken for another history: all queries of a node listed the newest state about every 90 s.
 */

const PATHS = Array.from({ length: 5 }, (_, n) => `/api/v1/things${n}`);
PATHS[4] = '/apis/example.com/v1/things4';
const ADDRESSES = ['simulated', 'another'] as const;

/** What etcd has, of which the revision is `server.version`, and up to which version each cache follows it. */
class Caches {
  readonly simulation: Simulation;
  objects = new Map<string, number>();
  readonly #reached = new Map<string, number>();

  constructor(simulation: Simulation) {
    const { server } = simulation;
    this.simulation = simulation;
    for (const path of PATHS) this.objects.set(path, server.version);
    for (const address of ADDRESSES) this.notify(address);
    server.fault = (request) => this.#answer(request);
  }

  /** etcd sends a progress notification. */
  notify(address: string): void {
    for (const path of PATHS) this.#reached.set(address + path, this.simulation.server.version);
  }

  /** Also of what is not watched here, such as Leases. */
  write(count: number): void {
    this.simulation.server.version += count;
  }

  change(path: string): void {
    const { server } = this.simulation;
    server.change(path);
    this.objects.set(path, server.version);
    for (const address of ADDRESSES) this.#reached.set(address + path, server.version);
  }

  /** etcd gets an older state, and its API servers start again. */
  restore(version: number, objects: ReadonlyMap<string, number>): void {
    this.simulation.server.version = version;
    this.objects = new Map(objects);
    for (const address of ADDRESSES) this.notify(address);
  }

  get isRight(): boolean {
    const { reflectors, shown } = this.simulation;
    return reflectors.every(
      ({ status }, n) =>
        status.connected && shown[n] === String(this.objects.get(PATHS[n] as string)),
    );
  }

  #answer({ path, verb, version }: SimulatedRequest): SimulatedAnswer {
    const { server } = this.simulation;
    const reached = this.#reached.get(server.address + path) as number;
    const changedAt = this.objects.get(path) as number;
    const from = Number(version);
    if (verb === 'watch') {
      const lines = changedAt > from ? [event('MODIFIED', changedAt)] : [];
      if (reached > from) lines.push(bookmark(reached));
      return { status: 200, body: { lines, end: 'open' } };
    }
    if (version !== null && from > reached) return behind();
    return list(version === null ? server.version : reached, [object(changedAt)]);
  }
}

/** Reflectors that follow etcd at 1000, at an API server whose caches have reached 10. */
async function useLag(): Promise<Caches> {
  const simulation = await useSimulation();
  const caches = new Caches(simulation);
  caches.write(990);
  caches.notify('another');
  await move(caches, 'another');
  expect(simulation.reflectors.map(({ status }) => status.version)).toEqual(Array(5).fill('1000'));
  simulation.server.requests.splice(0);
  await move(caches, 'simulated');
  return caches;
}

async function move({ simulation }: Caches, address: string): Promise<void> {
  simulation.server.address = address;
  simulation.server.cut();
  await simulation.pass(20_000);
}

/** Reflectors that watch at a relay now, which has listed at a version, with an object of another one. */
async function moveToRelay(version: number, changedAt: number): Promise<Simulation> {
  const { simulation } = await useLag();
  const { server } = simulation;
  server.fault = ({ verb, version: asked }) => {
    if (verb === 'watch') return { status: 200, body: { lines: [], end: 'open' } };
    return asked === null ? refusal(400) : list(version, [object(changedAt)]);
  };
  server.isRelay = true;
  server.address = 'relay';
  server.requests.splice(0);
  server.cut();
  return simulation;
}

describe('a cache that lags behind a version that etcd has reached', () => {
  test('leads to no list, and is asked once for each version', async () => {
    const caches = await useLag();
    const { simulation } = caches;
    const { server } = simulation;
    const checks = () => simulation.sentBy(0).filter(({ verb }) => verb === 'check');
    const versions = () => checks().map(({ version }) => version);
    for (let n = 0; n < 3; n++) await move(caches, 'simulated');
    expect(versions()).toEqual(['1000', null, null, null, null]);
    expect([caches.isRight, server.listed, server.serverState.history.current]).toEqual([
      true,
      [],
      0,
    ]);
    caches.change(PATHS[0] as string);
    await move(caches, 'simulated');
    expect(versions().slice(5)).toEqual(['1001']);
    expect(caches.isRight).toBe(true);
  });

  // Its API server may have lost etcd's events.
  test('and never reaches it leads to one list of the newest state in 15 minutes', async () => {
    const caches = await useLag();
    const { simulation } = caches;
    const { server } = simulation;
    for (let passed = 0; passed < 1_800_000; passed += 90_000) {
      caches.write(10);
      await move(caches, 'simulated');
      await simulation.pass(70_000);
    }
    expect(simulation.sentBy(0).filter(({ verb }) => verb === 'list')).toMatchObject([
      { version: null },
    ]);
    expect([caches.isRight, server.serverState.history.current]).toEqual([true, 0]);
  });

  test('does not hide that etcd was restored', async () => {
    const caches = await useLag();
    const { simulation } = caches;
    caches.restore(600, new Map(PATHS.map((path) => [path, 7])));
    await move(caches, 'simulated');
    expect(caches.isRight).toBe(true);
    expect(simulation.server.listed).toHaveLength(5);
    expect(simulation.server.serverState.history.current).toBe(1);
  });

  test('asks no relay for the newest state, which none has', async () => {
    const simulation = await moveToRelay(1000, 10);
    await simulation.pass(20_000);
    expect(simulation.sentBy(0).filter(({ version }) => version === null)).toEqual([]);
    expect(simulation.reflectors.every(({ status }) => status.connected)).toBe(true);
  });

  // Each node asked it twice a second for each query, for 30 s.
  test('asks a relay that has another history once, and then for a list', async () => {
    const simulation = await moveToRelay(2000, 5);
    await simulation.pass(500);
    const verbs = simulation.sentBy(0).map(({ verb }) => verb);
    expect(verbs.slice(0, 3)).toEqual(['watch', 'check', 'list']);
    await simulation.pass(10_000);
    expect(simulation.sentBy(0).filter(({ verb }) => verb === 'check')).toHaveLength(1);
  });

  // An API server before 1.31 with ConsistentListFromCache does that.
  test('and refuses the newest state too shows no other history', async () => {
    const { simulation } = await useLag();
    const { server } = simulation;
    server.fault = ({ verb }) => (verb === 'check' ? behind() : undefined);
    server.cut();
    await simulation.pass(20_000);
    expect(simulation.isRight).toBe(true);
    expect(server.serverState.history.current).toBe(0);
  });
});

const step = fc.record({
  does: fc.constantFrom('change', 'write', 'pass', 'restore', 'follow', 'move'),
  count: fc.nat(40),
  path: fc.constantFrom(...PATHS),
  address: fc.constantFrom(...ADDRESSES),
});

/** Restores the state of a backup, with so many writes since. Not if no version shows that. */
async function restore(
  caches: Caches,
  backup: { readonly version: number; readonly objects: ReadonlyMap<string, number> },
  writes: number,
): Promise<boolean> {
  const { reflectors, server } = caches.simulation;
  const newest = Math.max(...reflectors.map(({ status }) => Number(status.version)));
  if (newest <= backup.version + writes) return false;
  caches.restore(backup.version, backup.objects);
  caches.write(writes);
  await move(caches, server.address);
  expect(caches.isRight).toBe(true);
  return true;
}

test('whichever caches lag, no query lists until etcd is restored, and then all have its state', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const caches = new Caches(await useSimulation());
      const { simulation } = caches;
      const { server } = simulation;
      const backup = { version: server.version, objects: new Map(caches.objects) };
      let restored = 0;
      for (const { does, count, path, address } of steps) {
        if (does === 'change') caches.change(path);
        else if (does === 'write') caches.write(count);
        else if (does === 'pass') await simulation.pass(count * 1_000);
        else if (does === 'restore') restored += Number(await restore(caches, backup, count));
        else {
          if (does === 'follow') {
            caches.write(count);
            caches.notify(address);
          }
          await move(caches, address);
          expect(caches.isRight).toBe(true);
        }
        if (restored === 0) expect(server.listed).toEqual([]);
        expect(server.serverState.history.current).toBe(restored);
      }
    }),
    { numRuns: propertyRuns(150) },
  );
});
