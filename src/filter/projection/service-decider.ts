import type { Decision, PortDecision } from '../../topology/decide/decide.ts';
import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { HeldKey } from '../../topology/decide/return-delay.ts';
import type { ManagedPolicy, Policy } from '../../topology/policy/policy.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { type HiddenReason, whyHidden } from '../../topology/state/visibility.ts';
import type { Clock } from './clock.ts';
import type { Answer } from './decision-journal.ts';
import type { EndpointsObject } from './endpoint-index.ts';
import { Interner } from './interner.ts';
import { ReturnDelayScheduler } from './return-delay-scheduler.ts';

/** The part of an object that is shown. */
export interface ProjectedEndpoints {
  readonly object: EndpointsObject;
  /** As in Edit.keep; undefined: all. */
  readonly keep: Uint8Array | undefined;
  /** Whether a policy selected the endpoints. */
  readonly managed: boolean;
}

/**
 * What is shown of a Service, or why nothing is. `undecided`: the nodes of the zone are not known, so the Service
 * remains as it is shown.
 */
export type Outcome = HiddenReason | 'undecided' | readonly ProjectedEndpoints[];

/** The result of deciding about a Service. */
export interface DecidedService {
  readonly outcome: Outcome;
  /** The answer before this decision; undefined: there was none. */
  readonly before: Answer | undefined;
  /** The answer now; undefined: the Service has no endpoints objects, or is unknown. */
  readonly after: Answer | undefined;
}

/** Longer masks are not shared between objects. */
const MAX_SHARED_MASK = 64;

export interface ServiceDeciderOptions {
  readonly topology: Topology;
  readonly clock: Clock;
  /** Called from a timer, with the Services whose return delay has passed: they must be decided again. */
  readonly onDue: (services: readonly string[]) => void;
}

/** Decides about the objects of one Service at a time. Keeps the last answer of each Service and its return delays. */
export class ServiceDecider {
  readonly #topology: Topology;
  readonly #clock: Clock;
  readonly #delays: ReturnDelayScheduler;
  readonly #answers = new Map<string, TimedAnswer>();
  /** 10,000 Services have few different answers and masks. */
  readonly #texts = new Interner<string>();
  readonly #masks = new Interner<Uint8Array>();

  constructor({ topology, clock, onDue }: ServiceDeciderOptions) {
    this.#topology = topology;
    this.#clock = clock;
    this.#delays = new ReturnDelayScheduler(clock, onDue);
  }

  /** Decides about all objects of a Service together. */
  decide(service: string, objects: readonly EndpointsObject[]): DecidedService {
    const policy = this.#topology.policyInForce(service);
    if (policy?.managed === true) return this.#decideManaged(service, policy, objects);
    const isHidden = policy?.reason !== 'node-off' && isOfOtherProxy(objects);
    const outcome = isHidden
      ? 'hidden'
      : (this.#whyHidden(service, policy, false) ?? showAll(objects));
    if (policy === undefined) return this.#unchanged(service, outcome);
    const { reason } = policy;
    const answer = { id: reason, winner: reason, kept: undefined, mask: undefined };
    return { outcome, ...this.#replaceAnswer(service, objects, answer) };
  }

  /** The nearer key that a return delay holds back for `<family> <port>` of a Service. */
  held(service: string, port: string): HeldKey | undefined {
    return this.#delays.held(service, port);
  }

  /** The last answer about a Service; undefined: it has no endpoints objects, or is unknown. */
  answer(service: string): Answer | undefined {
    return this.#answers.get(service);
  }

  /** For how long the answer has been the same, in milliseconds; undefined: there is none. */
  age(service: string): number | undefined {
    const answer = this.#answers.get(service);
    return answer === undefined ? undefined : this.#clock.now() - answer.since;
  }

  /** How many Services have each answer, by {@link Answer.winner}. */
  winners(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { winner } of this.#answers.values()) {
      counts.set(winner, (counts.get(winner) ?? 0) + 1);
    }
    return counts;
  }

  /** Drops the return delay of a Service: its next decision takes effect immediately. */
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
  ): DecidedService {
    const groups = objects.flatMap((object) => object.groups);
    // A dry run shows all endpoints, so it waits for nothing.
    if (policy.dryRun !== true && !this.#topology.canDecide(policy, groups)) {
      return this.#unchanged(service, 'undecided');
    }
    const decision = this.#decision(service, policy, groups);
    const cloudOnly = this.#topology.isCloudOnly(policy, decision);
    const answer = answerOf(policy, decision, cloudOnly);
    const answers = this.#replaceAnswer(service, objects, answer);
    const hidden = this.#whyHidden(service, policy, cloudOnly);
    if (hidden !== undefined) return { outcome: hidden, ...answers };
    if (policy.dryRun === true) return { outcome: showAll(objects), ...answers };
    return { outcome: this.#cut(objects, decision.keep), ...answers };
  }

  /** The decision of the topology, under the return delay of the policy. */
  #decision(service: string, policy: ManagedPolicy, groups: readonly EndpointGroup[]): Decision {
    if (groups.length === 0) this.#delays.forget(service);
    const { returnDelayMs = 0 } = policy;
    if (returnDelayMs === 0 || groups.length === 0) return this.#topology.decide(groups, policy);
    return this.#delays.decide(service, returnDelayMs, (prefer) =>
      this.#topology.decide(groups, policy, prefer),
    );
  }

  #unchanged(service: string, outcome: Outcome): DecidedService {
    const answer = this.#answers.get(service);
    return { outcome, before: answer, after: answer };
  }

  /** Gives each object its part of a mask over the endpoints of all objects. */
  #cut(objects: readonly EndpointsObject[], keep: Uint8Array): ProjectedEndpoints[] {
    let offset = 0;
    return objects.map((object) => {
      const end = offset + sizeOf(object.groups);
      const own = keep.subarray(offset, end);
      offset = end;
      return { object, keep: own.includes(0) ? this.#maskOf(own) : undefined, managed: true };
    });
  }

  #replaceAnswer(
    service: string,
    objects: readonly EndpointsObject[],
    answer: Answer,
  ): Pick<DecidedService, 'before' | 'after'> {
    const before = this.#answers.get(service);
    if (objects.length === 0) {
      this.#answers.delete(service);
      return { before, after: undefined };
    }
    if (before?.id !== answer.id || before.mask !== answer.mask) {
      const since = before?.id === answer.id ? before.since : this.#clock.now();
      const id = this.#texts.of(answer.id, () => answer.id);
      const winner = this.#texts.of(answer.winner, () => answer.winner);
      this.#answers.set(service, { ...answer, id, winner, since });
    }
    return { before, after: answer };
  }

  #whyHidden(
    service: string,
    policy: Policy | undefined,
    cloudOnly: boolean,
  ): HiddenReason | undefined {
    const wanted = this.#topology.policies.wanted(service);
    // A policy in force already includes the other two reasons: node-off and other-proxy.
    return whyHidden({ nodeOff: false, ofOtherProxy: false, policy, wanted, cloudOnly });
  }

  /** A copy that equal masks share, unless it is long: long ones are rarely equal. */
  #maskOf(mask: Uint8Array): Uint8Array {
    if (mask.length > MAX_SHARED_MASK) return mask.slice();
    return this.#masks.of(mask.join(''), () => mask.slice());
  }
}

interface TimedAnswer extends Answer {
  /** Since when the same keys have won, in milliseconds of the clock. */
  readonly since: number;
}

function answerOf({ keys }: ManagedPolicy, { ports, keep }: Decision, cloudOnly: boolean): Answer {
  if (cloudOnly) return { id: 'withheld', winner: 'withheld', kept: 0, mask: 0 };
  let kept = 0;
  let mask = 0;
  for (const one of keep) {
    kept += one;
    // A hash: two different masks have the same number about once in four billion.
    mask = (Math.imul(mask, 31) + one + 1) | 0;
  }
  let id = '';
  let winner = '';
  // A slice that changes moves behind its siblings, and that is not another answer.
  const sorted = ports.length > 1 ? ports.toSorted(byFamilyAndPort) : ports;
  for (const { family, port, key, stage } of sorted) {
    const name = keys[key];
    id += `${family} ${port} ${name} ${stage};`;
    // One key usually wins for all ports: then no string is built.
    if (name === undefined || name === winner || winner.split(', ').includes(name)) continue;
    winner = winner === '' ? name : `${winner}, ${name}`;
  }
  return { id, winner: winner === '' ? 'none' : winner, kept, mask };
}

function byFamilyAndPort(a: PortDecision, b: PortDecision): number {
  if (a.family !== b.family) return a.family < b.family ? -1 : 1;
  return a.port < b.port ? -1 : 1;
}

function isOfOtherProxy(objects: readonly EndpointsObject[]): boolean {
  return objects.length > 0 && objects.every(({ ofOtherProxy }) => ofOtherProxy);
}

function showAll(objects: readonly EndpointsObject[]): ProjectedEndpoints[] {
  return objects.map((object) => ({ object, keep: undefined, managed: false }));
}

function sizeOf(groups: readonly EndpointGroup[]): number {
  return groups.reduce((size, { endpoints }) => size + endpoints.length, 0);
}
