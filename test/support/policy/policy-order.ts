import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import type { View } from '../../../src/filter/view/view.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import type { HarnessViews } from './policy-harness.ts';
import { keyOf } from './policy-objects.ts';

/**
 * Follows the two views of a kube-proxy event by event, because kube-proxy may read between any two events. It refuses
 * connections to each port of a Service that it has and that has no ready endpoint.
 */
export class OrderWatch {
  readonly #topology: Topology;
  /** Services → their ports, each as `<service> <port>`. */
  readonly #services = new Map<string, readonly string[]>();
  /** Slices → their ports, each as `<service> <port>`. */
  readonly #slices = new Map<string, readonly string[]>();
  /** The slices that show ready endpoints. */
  readonly #ready = new Set<string>();
  /** Ports that were refused since the step began → the event after which they first were. */
  readonly #refusedAfter = new Map<string, string>();
  /** See {@link replaced}. */
  readonly #replaced = new Set<string>();

  constructor(topology: Topology, { encoding, services, slices }: HarnessViews) {
    this.#topology = topology;
    for (const view of [services, slices]) {
      const take = (object: Buffer, type: string) =>
        this.#take(view, keyOf(encoding, object), object, type);
      for (const object of view.state().items) take(object, 'ADDED');
      let at = view.log.end;
      view.log.subscribe(() => {
        for (let entry = view.log.at(at); entry !== undefined; entry = view.log.at(++at)) {
          take(entry.object, entry.type);
        }
      });
    }
  }

  /**
   * Makes one change. Throws if a port is refused at an event in between, but neither before nor after. A port that
   * its Service or a slice loses may be refused meanwhile: two slices may exchange their ports. When the filter of the
   * node is switched, the order of Services and endpoints does not matter.
   */
  step(change: () => void): void {
    const off = this.#topology.nodeContext?.off;
    const before = this.#refused();
    const owners = [this.#services, this.#slices].map((all) => [all, new Map(all)] as const);
    this.#refusedAfter.clear();
    change();
    if (this.#topology.nodeContext?.off !== off) return;
    const after = this.#refused();
    const lost = owners.flatMap(([all, earlier]) =>
      [...earlier].flatMap(([key, ports]) => {
        const now = all.get(key) ?? ports;
        return ports.filter((port) => !now.includes(port));
      }),
    );
    for (const [port, event] of this.#refusedAfter) {
      if (before.has(port) || after.has(port) || lost.includes(port)) continue;
      if (this.#replaced.has(event)) continue;
      throw new Error(`${port} is refused after ${event}`);
    }
  }

  /** Objects were deleted and created again. If they wait for node sets, both events follow in a later step. */
  replaced(keys: Iterable<string>): void {
    for (const key of keys) this.#replaced.add(`DELETED ${key} of endpointslices`);
  }

  /** Nothing waits any longer. */
  settled(): void {
    this.#replaced.clear();
  }

  #take(view: View, key: string, object: Buffer, type: string): void {
    const { plural } = view.resource;
    if (plural === 'services') {
      if (type === 'DELETED') this.#services.delete(key);
      else this.#services.set(key, portsOf(key, view.codec.service(object).ports));
    } else {
      const { groups, namespace, service } = view.codec.endpoints(ENDPOINT_SLICES, object);
      const endpoints = groups.flatMap((group) => group.endpoints);
      const isReady = type !== 'DELETED' && endpoints.some(({ state }) => state === 'ready');
      const ports = groups.flatMap((group) => group.ports);
      if (type === 'DELETED') this.#slices.delete(key);
      else this.#slices.set(key, portsOf(`${namespace}/${service}`, ports));
      if (isReady) this.#ready.add(key);
      else this.#ready.delete(key);
    }
    for (const port of this.#refused()) {
      if (this.#refusedAfter.has(port)) continue;
      this.#refusedAfter.set(port, `${type} ${key} of ${plural}`);
    }
  }

  #refused(): Set<string> {
    const refused = new Set([...this.#services.values()].flat());
    for (const key of this.#ready) {
      for (const port of this.#slices.get(key) ?? []) refused.delete(port);
    }
    return refused;
  }
}

function portsOf(service: string, ports: readonly string[]): string[] {
  return ports.map((port) => `${service} ${port}`);
}
