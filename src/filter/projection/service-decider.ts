import type { Decision } from '../../topology/decide/decide.ts';
import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { HeldKey } from '../../topology/decide/return-delay.ts';
import type { ManagedPolicy, Policy } from '../../topology/policy/policy.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { type HiddenReason, whyHidden } from '../../topology/state/visibility.ts';
import type { Clock } from './clock.ts';
import type { Answer } from './decision-journal.ts';
import { type EndpointsObject, Interner } from './endpoint-index.ts';
import { ReturnDelays } from './return-delays.ts';

/** What of an object is shown: with which endpoints, and whether a policy says so. */
export interface ProjectedEndpoints {
  readonly object: EndpointsObject;
  /** As in Edit.keep; undefined: all. */
  readonly keep: Uint8Array | undefined;
  readonly managed: boolean;
}

/** What is shown of a Service, or why nothing is. */
export type Outcome = HiddenReason | readonly ProjectedEndpoints[];

/** Longer masks are not looked for among those of other objects. */
const MAX_SHARED_MASK = 64;

export interface ServiceDeciderOptions {
  readonly topology: Topology;
  readonly clock: Clock;
  /** Called with Services to be decided again, for a return delay has passed. */
  readonly onDue: (services: readonly string[]) => void;
  /** Called after each decision with what was answered before and now; undefined: there are no endpoints. */
  readonly onDecided: (service: string, from: Answer | undefined, to: Answer | undefined) => void;
}

/** Decides about the objects of one Service at a time, and remembers what a decision depends on: the last one. */
export class ServiceDecider {
  readonly #topology: Topology;
  readonly #clock: Clock;
  readonly #onDecided: ServiceDeciderOptions['onDecided'];
  readonly #delays: ReturnDelays;
  readonly #answers = new Map<string, TimedAnswer>();
  /** What 10,000 Services were answered, and are shown, is much the same. */
  readonly #texts = new Interner<string>();
  readonly #masks = new Interner<Uint8Array>();

  constructor({ topology, clock, onDue, onDecided }: ServiceDeciderOptions) {
    this.#topology = topology;
    this.#clock = clock;
    this.#onDecided = onDecided;
    this.#delays = new ReturnDelays(clock, onDue);
  }

  /** Decides about all objects of a Service together. */
  decide(service: string, objects: readonly EndpointsObject[]): Outcome {
    const policy = this.#topology.policyInForce(service);
    if (policy?.managed === true) return this.#decideManaged(service, policy, objects);
    if (policy !== undefined) {
      const { reason } = policy;
      const unfiltered = { kept: undefined, mask: undefined };
      this.#note(service, objects, { id: reason, winner: reason, ...unfiltered });
    }
    return this.#whyHidden(service, policy, false) ?? showAll(objects);
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

  /** How many Services each answer has: the keys that won, or why none was asked; see {@link Answer.winner}. */
  winners(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { winner } of this.#answers.values())
      counts.set(winner, (counts.get(winner) ?? 0) + 1);
    return counts;
  }

  /** What the owner of the cluster decides takes effect at once: the next decision is free. */
  forget(service: string): void {
    this.#delays.forget(service);
  }

  close(): void {
    this.#delays.close();
  }

  #note(service: string, objects: readonly EndpointsObject[], answer: Answer): void {
    const before = this.#answers.get(service);
    const after = objects.length === 0 ? undefined : answer;
    if (after === undefined) {
      this.#answers.delete(service);
    } else if (before?.id !== after.id || before.mask !== after.mask) {
      const since = before?.id === after.id ? before.since : this.#clock.now();
      const id = this.#texts.of(after.id, () => after.id);
      const winner = this.#texts.of(after.winner, () => after.winner);
      this.#answers.set(service, { ...after, id, winner, since });
    }
    this.#onDecided(service, before, after);
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
        ? this.#topology.decide(groups, policy)
        : this.#delays.decide(service, returnDelayMs, (prefer) =>
            this.#topology.decide(groups, policy, prefer),
          );
    const cloudOnly = this.#topology.isCloudOnly(policy, decision);
    this.#note(service, objects, answerOf(policy, decision, cloudOnly));
    const hidden = this.#whyHidden(service, policy, cloudOnly);
    if (hidden !== undefined) return hidden;
    if (policy.dryRun === true) return showAll(objects);
    let offset = 0;
    return objects.map((object) => {
      const end = offset + sizeOf(object.groups);
      const own = decision.keep.subarray(offset, end);
      offset = end;
      return { object, keep: own.includes(0) ? this.#maskOf(own) : undefined, managed: true };
    });
  }

  #whyHidden(
    service: string,
    policy: Policy | undefined,
    cloudOnly: boolean,
  ): HiddenReason | undefined {
    const wanted = this.#topology.policies.wanted(service);
    // A policy that is in force says so itself when the node is switched off, or another proxy is to serve it.
    return whyHidden({ nodeOff: false, ofOtherProxy: false, policy, wanted, cloudOnly });
  }

  /** A copy that is kept once, unless it is long: equal ones are few where there are few endpoints. */
  #maskOf(mask: Uint8Array): Uint8Array {
    if (mask.length > MAX_SHARED_MASK) return mask.slice();
    return this.#masks.of(mask.join(''), () => mask.slice());
  }
}

interface TimedAnswer extends Answer {
  /** Since when the same keys have been winning, in milliseconds of the clock. */
  readonly since: number;
}

function answerOf({ keys }: ManagedPolicy, { ports, keep }: Decision, cloudOnly: boolean): Answer {
  if (cloudOnly) return { id: 'withheld', winner: 'withheld', kept: 0, mask: 0 };
  let kept = 0;
  let mask = 0;
  for (const one of keep) {
    kept += one;
    // With the endpoints this number changes too, but for a few in four billions.
    mask = (Math.imul(mask, 31) + one + 1) | 0;
  }
  let id = '';
  let winner = '';
  for (const { family, port, key, stage } of ports) {
    const name = keys[key];
    id += `${family} ${port} ${name} ${stage};`;
    // Mostly one key wins for all ports: then no text is made.
    if (name === undefined || name === winner || winner.split(', ').includes(name)) continue;
    winner = winner === '' ? name : `${winner}, ${name}`;
  }
  return { id, winner: winner === '' ? 'none' : winner, kept, mask };
}

function showAll(objects: readonly EndpointsObject[]): ProjectedEndpoints[] {
  return objects.map((object) => ({ object, keep: undefined, managed: false }));
}

function sizeOf(groups: readonly EndpointGroup[]): number {
  return groups.reduce((size, { endpoints }) => size + endpoints.length, 0);
}
