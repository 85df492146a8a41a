import type { ManagedPolicy, Policy } from '../policy/policy.ts';
import { CLOUD_KEY, ZONE_KEY } from '../policy/topology-keys.ts';
import type { KeyMatcher } from './key-matcher.ts';
import { inOrderOfShares } from './node-set-shares.ts';
import type { PolicyStates } from './policy-states.ts';
import type { TopologyChange } from './topology-change.ts';
import type { NodeContext } from './topology-match.ts';

/** What the pending node context changes about one key. */
interface KeyChange {
  /** Services to be decided again, wherever their endpoints are. */
  readonly services: ReadonlySet<string>;
  /** Nodes that match now and did not before, or the reverse. */
  readonly nodes: ReadonlySet<string>;
  /** Whether the key matches by other labels. */
  readonly hasOtherLabels: boolean;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * Makes the pending node context and the pending policies active, once the node sets that they require are known. Until
 * then the previous ones remain active, and the node sets of both are needed.
 */
export class Activation {
  readonly #policies: PolicyStates;
  readonly #matcher: KeyMatcher;
  /** The last order of node sets, because it depends only on the context and on who uses which key. */
  readonly #ordered = new WeakMap<
    NodeContext,
    { revision: number; selectors: readonly string[] }
  >();

  constructor(policies: PolicyStates, matcher: KeyMatcher) {
    this.#policies = policies;
    this.#matcher = matcher;
  }

  /**
   * Opens the node sets that are needed now, and makes active what has all of them, step by step: each step may make
   * another one possible, and frees node sets or needs more. Adds to the change what that affects.
   *
   * @param services the only Services whose policies changed; undefined: something else changed too. A pending
   *   policy depends only on itself, the node context and the states of node sets. If only some policies changed,
   *   and no set has lost its room, all others that wait go on waiting.
   */
  settle(change: TopologyChange, services?: readonly string[]): void {
    const { withPending } = this.#policies;
    let candidates: Iterable<string> = services ?? withPending;
    for (;;) {
      // Nothing waits any longer for a set that loses its room.
      if (this.#updateNodeSets(change)) candidates = withPending;
      if (this.#activateNodeContext(change)) candidates = withPending;
      else if (!this.#activatePolicies(change, candidates)) return;
    }
  }

  /**
   * Selectors of the node sets that policies need now, in the order in which they get room: from the active context,
   * and then from the pending one.
   */
  neededSelectors(): readonly string[] {
    const { active, pending } = this.#matcher.ownNode;
    const all = [active, pending].flatMap((context) => this.#inOrder(context));
    return [...new Set(all)];
  }

  /** Whether the nodes are known that a policy needs, also if this node is switched off. */
  knows({ keys }: ManagedPolicy, context: NodeContext): boolean {
    const { nodeSets } = this.#matcher;
    return keys.every((key) => nodeSets.areSettled(this.#neededBy(key, context)));
  }

  /** Whether an active policy applies: none of its node sets is without room. */
  applies({ keys }: ManagedPolicy): boolean {
    const { nodeSets, ownNode } = this.#matcher;
    const { active } = ownNode;
    if (active === undefined || nodeSets.withoutRoom.size === 0) return true;
    return keys.every((key) => nodeSets.apply(this.#neededBy(key, active)));
  }

  /** Adds the Services that use a key for which this node set is needed now. */
  addUsers(change: TopologyChange, selector: string): void {
    const { active } = this.#matcher.ownNode;
    for (const key of this.#keysInUse(active)) {
      if (this.#matcher.active(key)?.selectors.includes(selector) !== true) continue;
      for (const service of this.#policies.usersOf(key)) change.services.add(service);
    }
  }

  /** Selectors of the node sets that must become known before the pending state of a Service is active. */
  waitsFor(service: string): readonly string[] {
    const { ownNode } = this.#matcher;
    const context = ownNode.pending ?? ownNode.active;
    if (context === undefined) return [];
    return this.#unsyncedSelectors(this.#policies.pendingOrActive(service), context);
  }

  /** Returns whether any set has lost its room. */
  #updateNodeSets(change: TopologyChange): boolean {
    const { nodeSets } = this.#matcher;
    const before = new Set(nodeSets.withoutRoom);
    if (!nodeSets.want(this.neededSelectors())) return false;
    this.#matcher.invalidate();
    for (const selector of before.symmetricDifference(nodeSets.withoutRoom)) {
      this.addUsers(change, selector);
    }
    return !nodeSets.withoutRoom.isSubsetOf(before);
  }

  /** Makes the policies of these Services active that are ready. Returns whether there were any. */
  #activatePolicies(change: TopologyChange, services: Iterable<string>): boolean {
    const policies = this.#policies;
    const context = this.#matcher.ownNode.active;
    if (context === undefined) return false;
    let activated = false;
    /** Thousands of Services share a few policies. */
    const ready = new Map<Policy, boolean>();
    for (const service of services) {
      if (!policies.withPending.has(service)) continue;
      const policy = policies.pendingOrActive(service);
      let isReady = ready.get(policy);
      if (isReady === undefined) {
        isReady = this.#unsyncedSelectors(policy, context).length === 0;
        ready.set(policy, isReady);
      }
      if (!isReady) continue;
      policies.activate(service);
      change.services.add(service);
      activated = true;
    }
    return activated;
  }

  /** Makes the pending node context active if it is ready. Returns whether it did. */
  #activateNodeContext(change: TopologyChange): boolean {
    const policies = this.#policies;
    const matcher = this.#matcher;
    const { ownNode, nodeSets } = matcher;
    const { active, pending } = ownNode;
    if (pending === undefined) return false;
    const keys = this.#keysInUse(active, pending);
    if (!keys.every((key) => nodeSets.areSettled(this.#requiredBy(key, pending)))) return false;
    if (active?.off !== pending.off) {
      for (const service of policies.services()) change.services.add(service);
      change.isSwitched = true;
    }
    const { self: isCloud } = matcher.matchIn(CLOUD_KEY, pending);
    if (matcher.active(CLOUD_KEY)?.self !== isCloud) change.isSwitched = true;
    // A policy for edge nodes only always has the cloud key, so the Services that it affects are found here too.
    const relabelled: string[] = [];
    for (const key of keys) {
      const { services, nodes, hasOtherLabels } = this.#keyChange(key, pending);
      for (const service of services) change.services.add(service);
      for (const node of nodes) change.addNode(node, key);
      if (hasOtherLabels) relabelled.push(key);
    }
    change.ownNode = relabelled;
    ownNode.activate();
    matcher.invalidate();
    return true;
  }

  #keyChange(key: string, pending: NodeContext): KeyChange {
    const matcher = this.#matcher;
    const before = matcher.active(key);
    const after = matcher.matchIn(key, pending);
    const sameSelf = before?.self === after.self;
    const sameSelectors = before?.selectors.join('\n') === after.selectors.join('\n');
    // Three cases affect more than the nodes that match now and did not before, or the reverse. The zone key also
    // compares zones of endpoints. `self` of the cloud key, and room for node sets, decide whether a policy applies.
    const { nodeSets } = matcher;
    const apply = nodeSets.apply(before?.selectors ?? []) && nodeSets.apply(after.selectors);
    const hasOtherLabels = !sameSelf || !sameSelectors;
    if (before === undefined || !sameSelf || !apply || (key === ZONE_KEY && !sameSelectors)) {
      return { services: this.#policies.usersOf(key), nodes: NO_NAMES, hasOtherLabels };
    }
    const nodes = matcher.otherNodes(before).symmetricDifference(matcher.otherNodes(after));
    return { services: NO_NAMES, nodes, hasOtherLabels };
  }

  /** Selectors that a policy requires, and whose nodes are not known. */
  #unsyncedSelectors(policy: Policy, context: NodeContext): readonly string[] {
    if (!policy.managed) return [];
    const required = policy.keys.flatMap((key) => this.#requiredBy(key, context));
    return required.filter((selector) => !this.#matcher.nodeSets.areSettled([selector]));
  }

  /** The node sets that must be known before a key can be decided. */
  #requiredBy(key: string, context: NodeContext): readonly string[] {
    return context.off ? [] : this.#neededBy(key, context);
  }

  /** The node sets that a key needs. On a node that is switched off only relays need some, and no view waits for it. */
  #neededBy(key: string, context: NodeContext): readonly string[] {
    const isUsed = !context.off || this.#policies.relayKeys.includes(key);
    return isUsed ? this.#matcher.matchIn(key, context).selectors : [];
  }

  /** Selectors of the node sets that a context needs. Their order matters only if there are too many. */
  #inOrder(context: NodeContext | undefined): readonly string[] {
    if (context === undefined) return [];
    const needed = new Set<string>();
    for (const key of this.#keysInUse(context)) {
      for (const selector of this.#neededBy(key, context)) needed.add(selector);
    }
    if (needed.size <= this.#matcher.nodeSets.max) return [...needed];
    const { revision } = this.#policies;
    const ordered = this.#ordered.get(context);
    if (ordered?.revision === revision && ordered.selectors.length === needed.size) {
      return ordered.selectors;
    }
    const users = new Map<string, Set<string>>();
    for (const key of this.#keysInUse(context)) {
      for (const selector of this.#neededBy(key, context)) {
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
    const keys = new Set(
      contexts.flatMap((context) => [...this.#matcher.keysOfOtherNodes(context)]),
    );
    return [...keys].filter((key) => this.#policies.usersOf(key).size > 0);
  }
}
