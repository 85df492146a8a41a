import { parseLabelSelector } from '../../../src/topology/policy/label-selector.ts';
import type { PolicySettings } from '../../../src/topology/policy/service-policy.ts';
import type { NodeFinder } from '../../../src/topology/state/node-lookups.ts';
import type { NodeSetWatcher } from '../../../src/topology/state/node-set.ts';
import type { TopologyOptions } from '../../../src/topology/state/topology.ts';
import type { Clock } from '../../../src/util/clock.ts';

/** A clock that stands still. */
export const stillClock: Clock = { now: () => 0, after: () => () => undefined };

/** Node sets whose members a test sets. A watch is open as long as its set. */
export function notWatched(clock: Clock): NodeSetWatcher {
  const watch = { status: { connected: true }, close: () => Promise.resolve() };
  return { clock, open: () => watch, onOverLimit: () => undefined };
}

/** Nodes whose look-ups are never answered. */
export function notFound(clock: Clock): NodeFinder {
  return { clock, find: () => undefined, onTooMany: () => undefined };
}

/** A topology in which nodes match by labels only. */
export const PLAIN_TOPOLOGY: Omit<TopologyOptions, 'nodeName'> = {
  topologyMatch: {
    communities: { nodeLabels: [], labelPrefix: '', labelValues: [] },
    edge: parseLabelSelector('node-role.kubernetes.io/edge'),
  },
  declaredCommunities: false,
  namespaces: false,
  withholdsServices: false,
  nodeSetWatcher: notWatched(stillClock),
  nodeFinder: notFound(stillClock),
};

/** Settings under which a Service has a policy only by its own annotation. */
export const NO_POLICY: PolicySettings = {
  defaults: { keys: [] },
  allowedTopologyKeys: ['*'],
  headless: false,
  compatibility: [],
  minReady: new Map(),
};

/** A clock that moves only when {@link ManualClock.pass} is called. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Number of timers that are set. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves the time, and calls each timer at its time. */
  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [first] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (first === undefined) break;
      this.#timers.delete(first);
      this.#now = Math.max(this.#now, first.at);
      first.callback();
    }
    this.#now = end;
  }
}
