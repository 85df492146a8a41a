import type { EndpointGroup } from '../topology/endpoint.ts';
import type { ManagedPolicy } from '../topology/policy.ts';
import type { World } from '../topology/world.ts';
import type { Clock } from './clock.ts';
import type { EndpointsObject } from './endpoint-index.ts';
import { ReturnDelays } from './return-delays.ts';

/** What of an object is shown: with which endpoints, and whether a policy says so. */
export interface Shown {
  readonly object: EndpointsObject;
  /** As in Edit.keep; undefined: all. */
  readonly keep: Uint8Array | undefined;
  readonly managed: boolean;
}

/**
 * The outcome for a Service:
 * - `undecided`: its policy waits for node sets; what is shown stands
 * - `hidden`: none of its objects is shown, for another proxy serves it
 * - `withheld`: none is shown, for all its traffic goes to the cloud
 */
export type Outcome = 'undecided' | 'hidden' | 'withheld' | readonly Shown[];

/** Decides about the objects of one Service at a time, and remembers what a decision depends on: the last one. */
export class ServiceDecider {
  readonly #world: World;
  readonly #delays: ReturnDelays;

  /** @param onDue called with Services to be decided again, for a return delay has passed */
  constructor(world: World, clock: Clock, onDue: (services: readonly string[]) => void) {
    this.#world = world;
    this.#delays = new ReturnDelays(clock, onDue);
  }

  /** Decides about all objects of a Service together. */
  decide(service: string, objects: readonly EndpointsObject[]): Outcome {
    const policy = this.#world.policyInForce(service);
    if (policy === undefined) return 'undecided';
    if (policy.managed) return this.#decideManaged(service, policy, objects);
    if (policy.reason === 'other-proxy') return 'hidden';
    return objects.map((object) => ({ object, keep: undefined, managed: false }));
  }

  /** What the owner of the cluster decides takes effect at once: the next decision is free. */
  forget(service: string): void {
    this.#delays.forget(service);
  }

  close(): void {
    this.#delays.close();
  }

  #decideManaged(
    service: string,
    policy: ManagedPolicy,
    objects: readonly EndpointsObject[],
  ): Outcome {
    if (objects.length === 0) this.#delays.forget(service);
    const groups = objects.flatMap((object) => object.groups);
    const { returnDelayMs = 0 } = policy;
    const decision =
      returnDelayMs === 0 || objects.length === 0
        ? this.#world.decide(groups, policy)
        : this.#delays.decide(service, returnDelayMs, (prefer) =>
            this.#world.decide(groups, policy, prefer),
          );
    if (this.#world.withholds(policy, decision)) return 'withheld';
    let offset = 0;
    return objects.map((object) => {
      const end = offset + sizeOf(object.groups);
      const own = decision.keep.slice(offset, end);
      offset = end;
      return { object, keep: own.includes(0) ? own : undefined, managed: true };
    });
  }
}

function sizeOf(groups: readonly EndpointGroup[]): number {
  return groups.reduce((size, { endpoints }) => size + endpoints.length, 0);
}
