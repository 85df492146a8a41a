import type { Decision, PortDecision } from '../../topology/decide/decide.ts';
import { countEndpoints, groupsOf } from '../../topology/decide/endpoint.ts';
import { type ManagedPolicy, type Policy, UNKNOWN_SERVICE } from '../../topology/policy/policy.ts';
import { type DecidedService, decideService } from '../../topology/state/decide-service.ts';
import { isHidden, type ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Clock } from '../../util/clock.ts';
import { Interner } from '../../util/interner.ts';
import type { Cause, DecidedOutcome, DecisionJournal } from './decision-journal.ts';
import type { EndpointsObject } from './endpoint-index.ts';

/** The part of an object that is shown. */
export interface ProjectedEndpoints {
  readonly object: EndpointsObject;
  /** As in Edit.keep; undefined: all. */
  readonly keep: Uint8Array | undefined;
  /** Whether a policy selected the endpoints. */
  readonly managed: boolean;
}

/** What is shown of the objects of a Service: those that are not shown so already. */
export type ProjectedService = readonly ProjectedEndpoints[] | 'hidden';

interface NewDecision {
  readonly projected: ProjectedService;
  readonly outcome: ServiceOutcome;
  /** As in DecidedOutcome; undefined: the first policy is pending. */
  readonly decision?: Pick<DecidedOutcome, 'id' | 'mask'> | undefined;
}

/** What is known of a Service that has endpoints objects. */
interface ServiceState {
  readonly outcome: ServiceOutcome;
  /** The last decision; undefined: there was none. */
  readonly decided: DecidedOutcome | undefined;
}

/** Longer masks are not shared between objects. Up to here, a mask is a number; see maskId. */
const MAX_SHARED_MASK = 50;

export interface ServiceDeciderOptions {
  readonly topology: Topology;
  readonly clock: Clock;
  readonly journal: DecisionJournal;
}

/** Decides about the objects of one Service at a time. Keeps the outcome of each Service. */
export class ServiceDecider {
  readonly #options: ServiceDeciderOptions;
  /** Services with endpoints objects. */
  readonly #services = new Map<string, ServiceState>();
  /** 10,000 Services have few different decisions and masks. */
  readonly #texts = new Interner<string>();
  readonly #masks = new Interner<Uint8Array>();

  constructor(options: ServiceDeciderOptions) {
    this.#options = options;
  }

  /**
   * Decides about all objects of a Service together.
   *
   * @param cause for the journal; undefined: this is the first state, which is not a change
   */
  decide(
    service: string,
    objects: readonly EndpointsObject[],
    cause: Cause | undefined,
  ): ProjectedService {
    const before = this.#services.get(service)?.decided;
    const { projected, outcome, decision } = this.#newDecision(service, objects);
    const after = objects.length === 0 ? undefined : this.#nextOutcome(outcome, before, decision);
    if (objects.length === 0) this.#services.delete(service);
    else this.#services.set(service, { outcome, decided: after });
    const { journal, clock } = this.#options;
    if (cause !== undefined) journal.add(clock.now(), service, before, after, cause);
    return projected;
  }

  /** What was decided last about a Service. One without endpoints objects is not stored. */
  outcome(service: string): ServiceOutcome {
    return this.#services.get(service)?.outcome ?? this.#newDecision(service, []).outcome;
  }

  /** Looks up the Nodes that the first decision about these objects depends on. */
  lookUpNodes(service: string, objects: readonly EndpointsObject[]): void {
    const { topology } = this.#options;
    const policy = topology.activePolicy(service);
    if (policy?.managed === true) topology.lookUpNodes(service, policy, groupsOf(objects));
  }

  /** For how long the same keys have won, in milliseconds; undefined: nothing was decided. */
  age(service: string): number | undefined {
    const decided = this.#services.get(service)?.decided;
    return decided && this.#options.clock.now() - decided.since;
  }

  #newDecision(service: string, objects: readonly EndpointsObject[]): NewDecision {
    const { topology } = this.#options;
    const groups = groupsOf(objects);
    const ofOtherProxy = this.#isOfOtherProxy(service, objects);
    const decided = decideService(topology, service, groups, ofOtherProxy);
    const { policy, outcome, decision } = decided;
    const isCut = decision !== undefined && !outcome.dryRun;
    const shown = isCut ? this.#cut(objects, decision.keep) : showAll(objects);
    const projected = isHidden(outcome) ? 'hidden' : shown;
    return { projected, outcome, decision: policy && identify(policy, decided) };
  }

  /** By the labels that a view of Services has, else by those that its objects inherit. */
  #isOfOtherProxy(service: string, objects: readonly EndpointsObject[]): boolean {
    const { topology } = this.#options;
    const inherited = objects.length > 0 && objects.every((object) => object.ofOtherProxy);
    const isHidden = topology.isUnreadHidden(service) ?? inherited;
    return isHidden && topology.policies.pendingOrActive(service) === UNKNOWN_SERVICE;
  }

  /** Gives each object its part of a mask over the endpoints of all objects. */
  #cut(objects: readonly EndpointsObject[], keep: Uint8Array): ProjectedEndpoints[] {
    const projected: ProjectedEndpoints[] = [];
    let start = 0;
    for (const object of objects) {
      const end = start + countEndpoints(object.groups);
      const mask = this.#maskOf(object, keep, start, end);
      if (!isShown(object, mask, true)) projected.push({ object, keep: mask, managed: true });
      start = end;
    }
    return projected;
  }

  #nextOutcome(
    outcome: ServiceOutcome,
    before: DecidedOutcome | undefined,
    decision: NewDecision['decision'],
  ): DecidedOutcome | undefined {
    if (decision === undefined) return before;
    const { mask } = decision;
    if (before?.id === decision.id) return { ...before, outcome, mask };
    const id = this.#texts.intern(decision.id, () => decision.id);
    return { outcome, id, mask, since: this.#options.clock.now() };
  }

  /**
   * The part of a mask that belongs to an object; undefined if it keeps all. Most objects keep the mask that they have.
   * Others share a copy, unless it is long: long ones are rarely equal.
   */
  #maskOf(
    { shown }: EndpointsObject,
    keep: Uint8Array,
    start: number,
    end: number,
  ): Uint8Array | undefined {
    if (keepsAll(keep, start, end)) return undefined;
    if (isPartOf(shown?.keep, keep, start, end)) return shown?.keep;
    if (end - start > MAX_SHARED_MASK) return keep.slice(start, end);
    return this.#masks.intern(maskId(keep, start, end), () => keep.slice(start, end));
  }
}

/** A longer id is a hash: the journal keeps 2,000, and a slice may have 20,000 ports. */
const MAX_ID = 256;

function identify(
  policy: Policy,
  { outcome, decision }: DecidedService,
): Pick<DecidedOutcome, 'id' | 'mask'> {
  if (!policy.managed) return { id: policy.reason, mask: 0 };
  if (outcome.kind === 'withheld' || decision === undefined) return { id: outcome.kind, mask: 0 };
  return { id: decisionId(policy, decision), mask: hashOf(decision.keep) };
}

/** Identifies the keys that won for each port. */
function decisionId({ keys }: ManagedPolicy, { ports }: Decision): string {
  let id = '';
  // A slice that changes moves behind its siblings, and that is not another decision.
  const sorted = ports.length > 1 ? ports.toSorted(byFamilyAndPort) : ports;
  for (const { family, port, key, stage } of sorted) {
    id += `${family} ${port} ${keys[key]} ${stage};`;
  }
  return id.length > MAX_ID ? `${id.length} ${hashOf(Buffer.from(id))}` : id;
}

/** Two different masks have the same number about once in four billion. */
function hashOf(keep: Uint8Array): number {
  let hash = 0;
  for (const one of keep) hash = (Math.imul(hash, 31) + one + 1) | 0;
  return hash;
}

/** A part of a mask as the digits of a binary number, after a 1: to join the digits takes ten times as long. */
function maskId(keep: Uint8Array, start: number, end: number): string {
  let id = 1;
  for (let index = start; index < end; index++) id = 2 * id + (keep[index] as number);
  return String(id);
}

function keepsAll(keep: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (keep[index] === 0) return false;
  return true;
}

/** Whether a mask equals the part of a longer one. */
function isPartOf(
  mask: Uint8Array | undefined,
  whole: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (mask?.length !== end - start) return false;
  for (let index = start; index < end; index++) {
    if (mask[index - start] !== whole[index]) return false;
  }
  return true;
}

function byFamilyAndPort(a: PortDecision, b: PortDecision): number {
  if (a.family !== b.family) return a.family < b.family ? -1 : 1;
  return a.port < b.port ? -1 : 1;
}

function showAll(objects: readonly EndpointsObject[]): ProjectedEndpoints[] {
  const projected: ProjectedEndpoints[] = [];
  for (const object of objects) {
    if (!isShown(object, undefined, false)) {
      projected.push({ object, keep: undefined, managed: false });
    }
  }
  return projected;
}

/** Whether the view shows an object exactly so. An equal mask is the same one; see #maskOf. */
function isShown(
  { isUncompared, shown }: EndpointsObject,
  keep: Uint8Array | undefined,
  managed: boolean,
): boolean {
  return !isUncompared && shown?.managed === managed && shown.keep === keep;
}
