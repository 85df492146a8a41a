import type { PortDecision } from '../topology/decide.ts';
import type { EndpointGroup } from '../topology/endpoint.ts';
import type { ManagedPolicy } from '../topology/policy.ts';
import type { HeldKey } from '../topology/return-delay.ts';
import type { World } from '../topology/world.ts';
import type { Clock } from './clock.ts';
import { type EndpointsObject, Interner } from './endpoint-index.ts';
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

/** Longer masks are not looked for among those of other objects. */
const MAX_SHARED_MASK = 64;

/** Decides about the objects of one Service at a time, and remembers what a decision depends on: the last one. */
export class ServiceDecider {
  readonly #world: World;
  readonly #clock: Clock;
  readonly #delays: ReturnDelays;
  readonly #answers = new Map<string, Answer>();
  /** What 10,000 Services were answered, and are shown, is much the same. */
  readonly #answerIds = new Interner<string>();
  readonly #masks = new Interner<Uint8Array>();

  /** @param onDue called with Services to be decided again, for a return delay has passed */
  constructor(world: World, clock: Clock, onDue: (services: readonly string[]) => void) {
    this.#world = world;
    this.#clock = clock;
    this.#delays = new ReturnDelays(clock, onDue);
  }

  /** Decides about all objects of a Service together. */
  decide(service: string, objects: readonly EndpointsObject[]): Outcome {
    const policy = this.#world.policyInForce(service);
    if (policy === undefined) {
      const { dryRun } = this.#world.policies.wanted(service);
      return dryRun === true ? showAll(objects) : 'undecided';
    }
    if (policy.managed) return this.#decideManaged(service, policy, objects);
    this.#note(service, policy.reason, objects);
    return policy.reason === 'other-proxy' && policy.dryRun !== true ? 'hidden' : showAll(objects);
  }

  /** What a return delay holds of `<family> <port>` of a Service. */
  held(service: string, port: string): HeldKey | undefined {
    return this.#delays.held(service, port);
  }

  /** For how long the answer has been the same, in milliseconds; undefined: there is none. */
  age(service: string): number | undefined {
    const answer = this.#answers.get(service);
    return answer === undefined ? undefined : this.#clock.now() - answer.since;
  }

  /** What the owner of the cluster decides takes effect at once: the next decision is free. */
  forget(service: string): void {
    this.#delays.forget(service);
  }

  close(): void {
    this.#delays.close();
  }

  #note(service: string, id: string, objects: readonly EndpointsObject[]): void {
    if (objects.length === 0) this.#answers.delete(service);
    else if (this.#answers.get(service)?.id !== id) {
      const answer = { id: this.#answerIds.of(id, () => id), since: this.#clock.now() };
      this.#answers.set(service, answer);
    }
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
    const withheld = this.#world.withholds(policy, decision);
    this.#note(service, withheld ? 'withheld' : answerOf(policy, decision.ports), objects);
    if (policy.dryRun === true) return showAll(objects);
    if (withheld) return 'withheld';
    let offset = 0;
    return objects.map((object) => {
      const end = offset + sizeOf(object.groups);
      const own = decision.keep.subarray(offset, end);
      offset = end;
      return { object, keep: own.includes(0) ? this.#maskOf(own) : undefined, managed: true };
    });
  }

  /** A copy that is kept once, unless it is long: equal ones are few where there are few endpoints. */
  #maskOf(mask: Uint8Array): Uint8Array {
    if (mask.length > MAX_SHARED_MASK) return mask.slice();
    return this.#masks.of(mask.join(''), () => mask.slice());
  }
}

/** What was answered about a Service, and since when, in milliseconds of the clock. */
interface Answer {
  readonly id: string;
  readonly since: number;
}

/** Names the keys that won: as long as these are the same, so is the answer. */
function answerOf({ keys }: ManagedPolicy, ports: readonly PortDecision[]): string {
  let answer = '';
  for (const { family, port, key, stage } of ports) {
    answer += `${family} ${port} ${keys[key]} ${stage};`;
  }
  return answer;
}

function showAll(objects: readonly EndpointsObject[]): Shown[] {
  return objects.map((object) => ({ object, keep: undefined, managed: false }));
}

function sizeOf(groups: readonly EndpointGroup[]): number {
  return groups.reduce((size, { endpoints }) => size + endpoints.length, 0);
}
