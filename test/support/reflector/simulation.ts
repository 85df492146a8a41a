import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import { Reflector } from '../../../src/client/reflector/reflector.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import type { Change } from '../../../src/filter/objects/change.ts';
import { type Resource, SERVICES } from '../../../src/filter/objects/resource.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { ManualClock } from '../clocks.ts';
import { closedLater } from '../closed-later.ts';
import { recordingLogger } from '../recording-logger.ts';
import { SimulatedServer } from './simulated-server.ts';

const STEP_MS = 50;

type ServerOptions = ConstructorParameters<typeof SimulatedServer>[0];

/** Reflectors of one simulated API server, and a clock that only {@link Simulation.pass} moves. */
export class Simulation<Server extends SimulatedServer = SimulatedServer> {
  readonly clock = new ManualClock();
  readonly server: Server;
  readonly lines;
  readonly reflectors;
  /** The version of the object that each reflector has. */
  readonly shown: string[] = [];
  /** What the handlers do first. */
  onChanges = (): void => {};
  /** How many changes each reflector has reported. */
  readonly changes: number[] = [];
  /** The status of each refusal that was reported; undefined: that it is over. */
  readonly refusals: (number | undefined)[] = [];

  /** The fifth query is of a custom resource, which may be absent. */
  constructor(
    random: () => number,
    queries: number,
    createServer: (options: ServerOptions) => Server,
    { forOthers = false } = {},
  ) {
    const { logger, lines } = recordingLogger();
    const codec = new JsonCodec();
    this.lines = lines;
    const { clock } = this;
    this.server = createServer({ clock, random, logger });
    this.reflectors = Array.from({ length: queries }, (_, n) => {
      const group = n === 4 ? 'example.com' : '';
      const resource: Resource = { ...SERVICES, plural: `things${n}`, group };
      const onChanges = (changes: readonly Change[]): void => {
        this.onChanges();
        this.changes[n] = (this.changes[n] ?? 0) + changes.length;
        for (const change of changes) {
          this.shown[n] = change.type === 'DELETED' ? '' : change.facts.resourceVersion;
        }
      };
      return new Reflector({
        upstream: this.server,
        logger,
        random,
        clock,
        query: { resource, namespace: '', labelSelector: '', fieldSelector: '', encoding: 'json' },
        decode: (bytes) => codec.meta(bytes),
        versions: new VersionAllocator(0),
        readLimits: DEFAULT_READ_LIMITS,
        forOthers,
        absentIsEmpty: group !== '',
        handler: { onChanges, onSynced: () => {} },
        onRefused: (error) => this.refusals.push(error?.status?.code),
      });
    });
  }

  /** The requests of one query. */
  sentBy(n: number) {
    return this.server.requests.filter(({ path }) => path.endsWith(`/things${n}`));
  }

  /** All reflectors watch, and have the newest state. */
  get isRight(): boolean {
    const newest = String(this.server.version);
    return this.reflectors.every(({ status }, n) => status.connected && this.shown[n] === newest);
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.clock.pass(Math.min(STEP_MS, ms - passed));
      await settled();
    }
  }

  /** Waits until all is right; returns how long that took, at most `limitMs`. */
  async untilRight(limitMs: number): Promise<number> {
    const since = this.clock.now();
    await settled();
    while (!this.isRight && this.clock.now() - since < limitMs) await this.pass(STEP_MS);
    return this.clock.now() - since;
  }

  /** The most requests, or other times, in any window of this length. */
  static most(times: readonly number[], windowMs: number): number {
    return Math.max(
      0,
      ...times.map((at) => times.filter((each) => each >= at && each < at + windowMs).length),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.reflectors.map((each) => each.close()));
  }
}

/** A simulation in which all has been right for 15 s. It is closed later. */
export async function useSimulation(seed = 7, queries = 5): Promise<Simulation> {
  const simulation = closedLater(
    new Simulation(sequence(seed), queries, (options) => new SimulatedServer(options)),
  );
  await simulation.untilRight(5_000);
  await simulation.pass(15_000);
  simulation.server.requests.splice(0);
  simulation.server.listed.splice(0);
  return simulation;
}

/** Numbers in [0, 1) that look random and are the same in each run. */
export function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** What follows from the time that has passed has happened. */
async function settled(): Promise<void> {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
}
