import type { View } from '../../../src/filter/view/view.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import type { HarnessViews } from './policy-harness.ts';
import { keyOf } from './policy-objects.ts';

/**
 * Follows the two views of a kube-proxy event by event, because kube-proxy may read between any two events. It refuses
 * connections to a Service that it has and that has no ready endpoint.
 */
export class OrderWatch {
  readonly #topology: Topology;
  readonly #services = new Set<string>();
  /** Slices that show ready endpoints → their Service. */
  readonly #ready = new Map<string, string>();
  /** Services that were refused since the step began → the event after which they first were. */
  readonly #refusedAfter = new Map<string, string>();

  constructor(topology: Topology, { encoding, services, slices }: HarnessViews) {
    this.#topology = topology;
    for (const view of [services, slices]) {
      const take = (object: Buffer, type: string) =>
        this.#take(view, keyOf(encoding, object), object, type);
      for (const object of view.snapshot().items) take(object, 'ADDED');
      let at = view.log.end;
      view.log.subscribe(() => {
        for (let entry = view.log.at(at); entry !== undefined; entry = view.log.at(++at)) {
          take(entry.object, entry.type);
        }
      });
    }
  }

  /**
   * Makes one change. Throws if a Service is refused at an event in between, but neither before nor after. When the
   * filter of the node is switched, the order of Services and endpoints does not matter.
   */
  step(change: () => void): void {
    const off = this.#topology.nodeContext?.off;
    const before = this.#refused();
    this.#refusedAfter.clear();
    change();
    if (this.#topology.nodeContext?.off !== off) return;
    const after = this.#refused();
    for (const [service, event] of this.#refusedAfter) {
      if (before.has(service) || after.has(service)) continue;
      throw new Error(`${service} is refused after ${event}`);
    }
  }

  #take(view: View, key: string, object: Buffer, type: string): void {
    const { plural } = view.resource;
    if (plural === 'services') {
      if (type === 'DELETED') this.#services.delete(key);
      else this.#services.add(key);
    } else {
      const { groups, namespace, service } = view.codec.endpointSlice(object);
      const endpoints = groups.flatMap((group) => group.endpoints);
      const isReady = type !== 'DELETED' && endpoints.some(({ state }) => state === 'ready');
      if (isReady) this.#ready.set(key, `${namespace}/${service}`);
      else this.#ready.delete(key);
    }
    for (const service of this.#refused()) {
      if (this.#refusedAfter.has(service)) continue;
      this.#refusedAfter.set(service, `${type} ${key} of ${plural}`);
    }
  }

  #refused(): Set<string> {
    const refused = new Set(this.#services);
    for (const service of this.#ready.values()) refused.delete(service);
    return refused;
  }
}
