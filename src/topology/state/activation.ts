import type { ManagedPolicy } from '../policy/policy.ts';
import { ZONE_KEY } from '../policy/topology-keys.ts';
import type { KeyMatcher } from './key-matcher.ts';
import { inOrderOfShares } from './node-set-shares.ts';
import type { PolicyStates } from './policy-states.ts';
import type { TopologyChange } from './topology-change.ts';
import type { NodeContext } from './topology-match.ts';
import type { ViewReports } from './view-reports.ts';

/**
 * Makes the next node context and the next policies active, once the node sets that they require are known. Until
 * then the previous ones remain active, and the node sets of both are needed.
 */
export class Activation {
  readonly #policies: PolicyStates;
  readonly #matcher: KeyMatcher;
  readonly #withoutZone: ViewReports<true>;
  /** The last order of node sets, because it depends only on the context and on who uses which key. */
  readonly #ordered = new WeakMap<
    NodeContext,
    { revision: number; selectors: readonly string[] }
  >();

  constructor(policies: PolicyStates, matcher: KeyMatcher, withoutZone: ViewReports<true>) {
    this.#policies = policies;
    this.#matcher = matcher;
    this.#withoutZone = withoutZone;
  }

  /**
   * Makes all active that is ready, and adds to the change what that affects. Returns whether there was anything.
   *
   * @param services the only Services whose policies changed; undefined: something else changed too. A next
   *   policy depends only on itself, the node context and the states of node sets. If only some policies changed,
   *   and no set has lost its room, all others that wait go on waiting.
   */
  run(change: TopologyChange, services?: Iterable<string>): boolean {
    const { withNext } = this.#policies;
    let candidates = services ?? withNext;
    let activated = false;
    // Each may make the other ready: a policy that is replaced may have held up the node context.
    for (;;) {
      if (this.#adoptNodeContext(change)) candidates = withNext;
      else if (!this.#activatePolicies(change, candidates)) return activated;
      activated = true;
    }
  }

  /**
   * Selectors of the node sets that policies need now, in the order in which they get room: from the active context,
   * and then from the next one.
   */
  neededSelectors(): readonly string[] {
    const { current, next } = this.#matcher.ownNode;
    const all = [current, next].flatMap((context) => this.#inOrder(context));
    return [...new Set(all)];
  }

  /** Whether the active policy of a Service applies: none of its node sets is without room. */
  applies(service: string, { keys }: ManagedPolicy): boolean {
    const { nodeSets, ownNode } = this.#matcher;
    const { current } = ownNode;
    if (current === undefined || nodeSets.withoutRoom.size === 0) return true;
    return keys.every((key) => nodeSets.apply(this.#requiredBy(key, current, service)));
  }

  /** Services that use a key for which this node set is needed now. */
  *usersOf(selector: string): Generator<string> {
    const { current } = this.#matcher.ownNode;
    for (const key of this.#keysInUse(current)) {
      if (this.#matcher.active(key)?.selectors.includes(selector) !== true) continue;
      yield* this.#policies.usersOf(key);
    }
  }

  /** Selectors of the node sets that must become known before the latest state of a Service is active. */
  waitsFor(service: string): readonly string[] {
    const { ownNode } = this.#matcher;
    const context = ownNode.next ?? ownNode.current;
    return context === undefined ? [] : this.#unknownSelectors(service, context);
  }

  /** Makes the policies of these Services active that are ready. Returns whether there were any. */
  #activatePolicies(change: TopologyChange, services: Iterable<string>): boolean {
    const policies = this.#policies;
    const context = this.#matcher.ownNode.current;
    if (context === undefined) return false;
    let activated = false;
    for (const service of services) {
      if (!policies.withNext.has(service)) continue;
      if (this.#unknownSelectors(service, context).length > 0) continue;
      policies.activate(service);
      change.services.add(service);
      activated = true;
    }
    return activated;
  }

  /** Makes the next node context active if it is ready. Returns whether it did. */
  #adoptNodeContext(change: TopologyChange): boolean {
    const policies = this.#policies;
    const matcher = this.#matcher;
    const { ownNode, nodeSets } = matcher;
    const { current, next } = ownNode;
    if (next === undefined) return false;
    const keys = this.#keysInUse(current, next);
    if (!keys.every((key) => nodeSets.areKnown(this.#requiredBy(key, next)))) return false;
    if (current?.off !== next.off) {
      for (const service of policies.services()) change.services.add(service);
    }
    // A policy for edge nodes only always has the cloud key, so the Services that it affects are found here too.
    change.ownNode = keys.filter((key) => this.#addKeyChange(change, key, next));
    ownNode.adopt();
    matcher.invalidate();
    return true;
  }

  /** Adds what the next node context changes about one key. Returns whether the key matches other nodes. */
  #addKeyChange(change: TopologyChange, key: string, next: NodeContext): boolean {
    const matcher = this.#matcher;
    const before = matcher.active(key);
    const after = matcher.of(key, next);
    const sameSelf = before?.self === after.self;
    const sameSelectors = before?.selectors.join('\n') === after.selectors.join('\n');
    // Three cases affect more than the nodes that match now and did not before, or the reverse. The zone key also
    // compares zones of endpoints. `self` of the cloud key, and room for node sets, decide whether a policy applies.
    const { nodeSets } = matcher;
    const apply = nodeSets.apply(before?.selectors ?? []) && nodeSets.apply(after.selectors);
    if (before === undefined || !sameSelf || !apply || (key === ZONE_KEY && !sameSelectors)) {
      for (const service of this.#policies.usersOf(key)) change.services.add(service);
    } else {
      const nodes = matcher.otherNodes(before).symmetricDifference(matcher.otherNodes(after));
      for (const node of nodes) change.addNode(node, key);
    }
    return !sameSelf || !sameSelectors;
  }

  /** Selectors that the latest policy of a Service requires, and whose nodes are not known. */
  #unknownSelectors(service: string, context: NodeContext): readonly string[] {
    const policy = this.#policies.latest(service);
    if (!policy.managed) return [];
    const required = policy.keys.flatMap((key) => this.#requiredBy(key, context, service));
    return required.filter((selector) => !this.#matcher.nodeSets.areKnown([selector]));
  }

  /**
   * The node sets that must be known before a key can be decided.
   *
   * @param service the only one that is decided; undefined: all that use the key
   */
  #requiredBy(key: string, context: NodeContext, service?: string): readonly string[] {
    if (context.off) return [];
    if (key === ZONE_KEY && !this.#needsZoneNodes(service)) return [];
    return this.#matcher.of(key, context).selectors;
  }

  /** Most endpoints name their zone: then the zone key needs no nodes. */
  #needsZoneNodes(service: string | undefined): boolean {
    return service === undefined
      ? this.#withoutZone.hasAnyOf(this.#policies.usersOf(ZONE_KEY))
      : this.#withoutZone.get(service) === true;
  }

  /** Selectors of the node sets that a context requires. Their order matters only if there are too many. */
  #inOrder(context: NodeContext | undefined): readonly string[] {
    if (context === undefined) return [];
    const needed = new Set<string>();
    for (const key of this.#keysInUse(context)) {
      for (const selector of this.#requiredBy(key, context)) needed.add(selector);
    }
    if (needed.size <= this.#matcher.nodeSets.max) return [...needed];
    const { revision } = this.#policies;
    const ordered = this.#ordered.get(context);
    if (ordered?.revision === revision && ordered.selectors.length === needed.size) {
      return ordered.selectors;
    }
    const users = new Map<string, Set<string>>();
    for (const key of this.#keysInUse(context)) {
      for (const selector of this.#requiredBy(key, context)) {
        const known = users.get(selector) ?? new Set();
        users.set(selector, known.union(this.#policies.usersOf(key)));
      }
    }
    const selectors = inOrderOfShares(users);
    this.#ordered.set(context, { revision, selectors });
    return selectors;
  }

  /** The keys in use that can match other nodes in any of these contexts. In no other key do two contexts differ. */
  #keysInUse(...contexts: (NodeContext | undefined)[]): string[] {
    const places = contexts.flatMap((context) => [...this.#matcher.places(context)]);
    return [...new Set(places)].filter((key) => this.#policies.usersOf(key).size > 0);
  }
}
