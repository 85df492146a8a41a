import { countEndpoints, type Decision, type PortDecision } from '../../topology/decide/decide.ts';
import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { HeldKey } from '../../topology/decide/return-delay.ts';
import type { ManagedPolicy } from '../../topology/policy/policy.ts';
import { isHidden, outcomeOf, type ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Clock } from '../../util/clock.ts';
import type { DecidedOutcome } from './decision-journal.ts';
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

/** What is decided about a Service. */
export interface DecidedService {
  /** What is shown of its objects. `unchanged`: it cannot be decided yet, so it remains as it is shown. */
  readonly projected: readonly ProjectedEndpoints[] | 'hidden' | 'unchanged';
  readonly outcome: ServiceOutcome;
  /** The last decision before this one; undefined: there was none. */
  readonly before: DecidedOutcome | undefined;
  /** The last decision now; undefined: the Service has no endpoints objects, or was never decided. */
  readonly after: DecidedOutcome | undefined;
}

/** Longer masks are not shared between objects. */
const MAX_SHARED_MASK = 64;

export interface ServiceDeciderOptions {
  readonly topology: Topology;
  readonly clock: Clock;
  /** Called from a timer, with the Services whose return delay has passed: they must be decided again. */
  readonly onDue: (services: readonly string[]) => void;
}

/** Decides about the objects of one Service at a time. Keeps the outcome of each Service and its return delays. */
export class ServiceDecider {
  readonly #topology: Topology;
  readonly #clock: Clock;
  readonly #delays: ReturnDelayScheduler;
  readonly #decided = new Map<string, DecidedOutcome>();
  /** Services that cannot be decided yet. The last decision stays. */
  readonly #waiting = new Map<string, ServiceOutcome>();
  /** 10,000 Services have few different decisions and masks. */
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
    const groups = objects.flatMap((object) => object.groups);
    if (policy?.managed === true) return this.#decideManaged(service, policy, objects, groups);
    const input = {
      policy,
      wanted: this.#topology.policies.wanted(service),
      ofOtherProxy: isOfOtherProxy(objects),
      cloudOnly: false,
    };
    const outcome = outcomeOf(service, input, groups);
    const projected = isHidden(outcome) ? 'hidden' : showAll(objects);
    if (policy === undefined) return this.#wait(objects, outcome, projected);
    return { projected, ...this.#store(objects, outcome, policy.reason, 0) };
  }

  /** The nearer key that a return delay holds back for `<family> <port>` of a Service. */
  held(service: string, port: string): HeldKey | undefined {
    return this.#delays.held(service, port);
  }

  /** What was decided last about a Service. One without endpoints objects is not stored. */
  outcome(service: string): ServiceOutcome {
    const stored = this.#waiting.get(service) ?? this.#decided.get(service)?.outcome;
    if (stored !== undefined) return stored;
    const policy = this.#topology.policyInForce(service);
    const wanted = this.#topology.policies.wanted(service);
    return outcomeOf(service, { policy, wanted, cloudOnly: false }, []);
  }

  /** For how long the same keys have won, in milliseconds; undefined: nothing was decided. */
  age(service: string): number | undefined {
    const decided = this.#decided.get(service);
    return decided && this.#clock.now() - decided.since;
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
    groups: readonly EndpointGroup[],
  ): DecidedService {
    const wanted = policy;
    // A dry run shows all endpoints, so it waits for nothing.
    if (policy.dryRun !== true && !this.#topology.canDecide(policy, groups)) {
      const last = this.#decided.get(service)?.outcome;
      const none = outcomeOf(service, { policy: undefined, wanted, cloudOnly: false }, groups);
      const outcome = { ...(last ?? none), kind: none.kind, total: none.total };
      return this.#wait(objects, outcome, 'unchanged');
    }
    const decision = this.#decision(service, policy, groups);
    const cloudOnly = this.#topology.isCloudOnly(policy, decision);
    const outcome = outcomeOf(service, { policy, wanted, cloudOnly }, groups, decision);
    const stored = cloudOnly
      ? this.#store(objects, outcome, 'withheld', 0)
      : this.#store(objects, outcome, idOf(policy, decision), hashOf(decision.keep));
    if (isHidden(outcome)) return { projected: 'hidden', ...stored };
    if (policy.dryRun === true) return { projected: showAll(objects), ...stored };
    return { projected: this.#cut(objects, decision.keep), ...stored };
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

  /** Gives each object its part of a mask over the endpoints of all objects. */
  #cut(objects: readonly EndpointsObject[], keep: Uint8Array): ProjectedEndpoints[] {
    let offset = 0;
    return objects.map((object) => {
      const end = offset + countEndpoints(object.groups);
      const own = keep.subarray(offset, end);
      offset = end;
      return { object, keep: own.includes(0) ? this.#maskOf(own) : undefined, managed: true };
    });
  }

  #wait(
    objects: readonly EndpointsObject[],
    outcome: ServiceOutcome,
    projected: DecidedService['projected'],
  ): DecidedService {
    const { service } = outcome;
    const before = this.#decided.get(service);
    if (objects.length === 0) {
      this.#forgetOutcome(service);
      return { projected, outcome, before, after: undefined };
    }
    this.#waiting.set(service, outcome);
    return { projected, outcome, before, after: before };
  }

  #store(
    objects: readonly EndpointsObject[],
    outcome: ServiceOutcome,
    id: string,
    mask: number,
  ): Pick<DecidedService, 'outcome' | 'before' | 'after'> {
    const { service } = outcome;
    const before = this.#decided.get(service);
    if (objects.length === 0) {
      this.#forgetOutcome(service);
      return { outcome, before, after: undefined };
    }
    this.#waiting.delete(service);
    const isSame = before?.id === id;
    const since = isSame ? before.since : this.#clock.now();
    const after = { outcome, id: isSame ? before.id : this.#texts.of(id, () => id), mask, since };
    this.#decided.set(service, after);
    return { outcome, before, after };
  }

  #forgetOutcome(service: string): void {
    this.#decided.delete(service);
    this.#waiting.delete(service);
  }

  /** A copy that equal masks share, unless it is long: long ones are rarely equal. */
  #maskOf(mask: Uint8Array): Uint8Array {
    if (mask.length > MAX_SHARED_MASK) return mask.slice();
    return this.#masks.of(mask.join(''), () => mask.slice());
  }
}

/** Identifies the keys that won for each port. */
function idOf({ keys }: ManagedPolicy, { ports }: Decision): string {
  let id = '';
  // A slice that changes moves behind its siblings, and that is not another decision.
  const sorted = ports.length > 1 ? ports.toSorted(byFamilyAndPort) : ports;
  for (const { family, port, key, stage } of sorted) {
    id += `${family} ${port} ${keys[key]} ${stage};`;
  }
  return id;
}

/** Two different masks have the same number about once in four billion. */
function hashOf(keep: Uint8Array): number {
  let hash = 0;
  for (const one of keep) hash = (Math.imul(hash, 31) + one + 1) | 0;
  return hash;
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
