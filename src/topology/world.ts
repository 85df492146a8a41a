import { type Decision, decide } from './decide.ts';
import type { Endpoint, EndpointGroup } from './endpoint.ts';
import { type EndpointReason, explain } from './explain.ts';
import { createNodeSet, type NodeSet, selectorFor } from './node-set.ts';
import { Policies } from './policies.ts';
import { ANY_KEY, HOSTNAME_KEY, type Policy, ZONE_KEY } from './policy.ts';

/** What a change of the world may alter; a view looks at these Services again, and at no others. */
export interface WorldChange {
  /** Services (`namespace/name`) whose policy or whose relation to this node changed. */
  readonly services: ReadonlySet<string>;
  /**
   * Nodes that entered or left a relation, each with the topology keys concerned: Services that use one of
   * these keys and have an endpoint on the node are touched.
   */
  readonly nodes: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Who wants to hear of the world; called synchronously, after the change is in force. */
export interface WorldListener {
  /** Something a decision depends on changed. All of one change comes in one call. */
  changed?(change: WorldChange): void;
  /** Another set of label selectors is needed; node sets not among them are forgotten. */
  wanted?(selectors: ReadonlySet<string>): void;
}

/**
 * What this node knows of the cluster: its own labels, the node sets related to it, the Services' policies.
 * Pure state: whoever watches the API server tells it, and it tells its listeners which Services to decide
 * again.
 *
 * Invariant: a decision never mixes two states of the world. New own labels, and a new policy, come into
 * force only when all the node sets they need have synced; until then the old ones stand, and both kinds of
 * node sets are wanted. A Service that had no policy before is undecided meanwhile.
 */
export class World {
  readonly nodeName: string;
  readonly policies = new Policies();
  readonly #listeners = new Set<WorldListener>();
  readonly #sets = new Map<string, NodeSet>();
  /** Services with an endpoint that names a node but no zone, by the view that has seen it. */
  readonly #zoneless = new Map<string, Set<object>>();
  #own: ReadonlyMap<string, string> | undefined;
  #next: ReadonlyMap<string, string> | undefined;
  #servicesSynced = false;

  constructor(nodeName: string) {
    this.nodeName = nodeName;
  }

  /** Calls a listener from now on; returns how to end that. */
  subscribe(listener: WorldListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Labels of this node that are in force; undefined while the Node is unknown. */
  get ownLabels(): ReadonlyMap<string, string> | undefined {
    return this.#own;
  }

  /** The node sets in use, by selector. */
  get nodeSets(): ReadonlyMap<string, Readonly<NodeSet>> {
    return this.#sets;
  }

  /** Whether all that is known is in force: a view can be built, and is complete. */
  get settled(): boolean {
    const known = this.#own !== undefined && this.#next === undefined;
    return known && this.#servicesSynced && this.policies.pending.size === 0;
  }

  /** Own Node seen or changed. A deleted Node keeps its last labels: the last good answer stands. */
  setOwnLabels(labels: ReadonlyMap<string, string>): void {
    if (sameLabels(this.#next ?? this.#own, labels)) return;
    this.#next = labels;
    this.#settle(new ChangeBuilder());
  }

  /** Policies of Services that were seen, changed or (undefined) deleted, as `namespace/name`. */
  setPolicies(policies: ReadonlyMap<string, Policy | undefined>): void {
    const change = new ChangeBuilder();
    for (const [service, policy] of policies) {
      if (this.policies.set(service, policy) && policy === undefined) change.services.add(service);
    }
    this.#settle(change);
  }

  /** All Services that exist at the start have been told. */
  setServicesSynced(): void {
    this.#servicesSynced = true;
    this.#settle(new ChangeBuilder());
  }

  /** Nodes that entered and left a node set. Unknown selectors are ignored: the set was just closed. */
  changeNodeSet(selector: string, added: Iterable<string>, removed: Iterable<string>): void {
    const set = this.#sets.get(selector);
    if (set === undefined) return;
    const change = new ChangeBuilder();
    const key = selector.slice(0, selector.indexOf('='));
    for (const node of added) {
      if (set.members.has(node)) continue;
      set.members.add(node);
      change.addNode(node, key);
    }
    for (const node of removed) {
      if (set.members.delete(node)) change.addNode(node, key);
    }
    if (!this.#inForce(selector, key)) change.nodes.clear();
    this.#emit(change);
  }

  /** A node set is complete, or (with a message) refused by the API server. */
  setNodeSetState(selector: string, refusal?: string): void {
    const set = this.#sets.get(selector);
    if (set === undefined) return;
    // Once synced, a set keeps its members: an API server that starts answers 403 until its RBAC has loaded.
    if (refusal === undefined) set.state = 'synced';
    else if (set.state === 'syncing') set.state = 'refused';
    set.refusal = refusal;
    this.#settle(new ChangeBuilder());
  }

  /**
   * A view has (true) or no longer has (false) endpoints of these Services that name a node but no zone, so
   * that the zone key needs to know the nodes of the zone. Until these are known the policy of a Service
   * that uses the key is pending again, and what is shown of it stands.
   */
  setZoneless(
    view: object,
    services: Iterable<readonly [service: string, zoneless: boolean]>,
  ): void {
    const affected: string[] = [];
    for (const [service, zoneless] of services) {
      const views = this.#zoneless.get(service);
      if ((views?.has(view) ?? false) === zoneless) continue;
      affected.push(service);
      if (zoneless) {
        this.#zoneless.set(service, (views ?? new Set()).add(view));
      } else {
        views?.delete(view);
        if (views?.size === 0) this.#zoneless.delete(service);
      }
    }
    if (affected.length === 0) return;
    this.#updateWanted();
    for (const service of affected) {
      const policy = this.policies.inForce(service);
      if (policy !== undefined && !this.#resolved(service, policy, this.#own)) {
        this.policies.suspend(service);
      }
    }
    this.#settle(new ChangeBuilder());
  }

  /** What applies to a Service now; undefined while that waits for node sets. */
  policyInForce(service: string): Policy | undefined {
    return this.policies.inForce(service);
  }

  /** Decides about all endpoints of a managed Service by its keys. */
  decide(groups: readonly EndpointGroup[], keys: readonly string[]): Decision {
    return decide(groups, keys, this.#relates);
  }

  /** Says of each endpoint of a managed Service why it is shown, or not. */
  explain(groups: readonly EndpointGroup[], keys: readonly string[]): EndpointReason[] {
    return explain(groups, keys, this.#relates);
  }

  readonly #relates = (key: string, endpoint: Endpoint): boolean => {
    if (key === ANY_KEY) return true;
    if (endpoint.node === '') return false;
    const here = endpoint.node === this.nodeName;
    if (key === HOSTNAME_KEY) return here;
    const value = this.#own?.get(key);
    if (value === undefined) return false;
    if (key === ZONE_KEY && endpoint.zone !== '') return endpoint.zone === value;
    return here || (this.#sets.get(selectorFor(key, value))?.members.has(endpoint.node) ?? false);
  };

  /** Whether decisions depend on a node set now, not only once pending labels are in force. */
  #inForce(selector: string, key: string): boolean {
    const value = this.#own?.get(key);
    return value !== undefined && selectorFor(key, value) === selector;
  }

  /** Puts in force what has all it needs, then tells the listeners. */
  #settle(change: ChangeBuilder): void {
    this.#updateWanted();
    this.#adoptOwnLabels(change);
    for (const service of this.policies.pending) {
      if (this.#own === undefined) break;
      if (!this.#resolved(service, this.policies.wanted(service), this.#own)) continue;
      this.policies.activate(service);
      change.services.add(service);
    }
    this.#updateWanted();
    this.#emit(change);
  }

  #adoptOwnLabels(change: ChangeBuilder): void {
    const next = this.#next;
    if (next === undefined) return;
    for (const selector of this.#selectorsUnder(next)) {
      if (this.#sets.get(selector)?.state === 'syncing') return;
    }
    for (const key of this.policies.keysInUse()) {
      if (this.#own?.get(key) === next.get(key)) continue;
      for (const service of this.policies.usersOf(key)) change.services.add(service);
    }
    this.#own = next;
    this.#next = undefined;
  }

  /** Whether every node set that a policy needs under these labels is known, or known to be refused. */
  #resolved(
    service: string,
    policy: Policy,
    labels: ReadonlyMap<string, string> | undefined,
  ): boolean {
    if (!policy.managed || labels === undefined) return !policy.managed;
    return policy.keys.every((key) => {
      const selector = this.#selectorOf(key, labels, this.#zoneless.has(service));
      return selector === undefined || this.#sets.get(selector)?.state !== 'syncing';
    });
  }

  /** The node set that a key needs, if any: keys that are decided from the endpoint alone need none. */
  #selectorOf(
    key: string,
    labels: ReadonlyMap<string, string>,
    zoneless: boolean,
  ): string | undefined {
    if (key === ANY_KEY || key === HOSTNAME_KEY) return undefined;
    if (key === ZONE_KEY && !zoneless) return undefined;
    const value = labels.get(key);
    return value === undefined ? undefined : selectorFor(key, value);
  }

  *#selectorsUnder(labels: ReadonlyMap<string, string> | undefined): Generator<string> {
    if (labels === undefined) return;
    for (const key of this.policies.keysInUse()) {
      const zoneless = key === ZONE_KEY && this.#anyZoneless();
      const selector = this.#selectorOf(key, labels, zoneless);
      if (selector !== undefined) yield selector;
    }
  }

  #anyZoneless(): boolean {
    const users = this.policies.usersOf(ZONE_KEY);
    const [fewer, more] =
      users.size < this.#zoneless.size ? [users, this.#zoneless] : [this.#zoneless, users];
    for (const service of fewer.keys()) if (more.has(service)) return true;
    return false;
  }

  #updateWanted(): void {
    const wanted = new Set([
      ...this.#selectorsUnder(this.#own),
      ...this.#selectorsUnder(this.#next),
    ]);
    let changed = false;
    for (const selector of this.#sets.keys()) {
      if (!wanted.has(selector)) changed = this.#sets.delete(selector);
    }
    for (const selector of wanted) {
      if (this.#sets.has(selector)) continue;
      this.#sets.set(selector, createNodeSet(selector));
      changed = true;
    }
    if (changed) for (const listener of this.#listeners) listener.wanted?.(wanted);
  }

  #emit(change: ChangeBuilder): void {
    for (const listener of this.#listeners) listener.changed?.(change);
  }
}

class ChangeBuilder implements WorldChange {
  readonly services = new Set<string>();
  readonly nodes = new Map<string, Set<string>>();

  addNode(node: string, key: string): void {
    const keys = this.nodes.get(node) ?? new Set();
    this.nodes.set(node, keys.add(key));
  }
}

function sameLabels(
  a: ReadonlyMap<string, string> | undefined,
  b: ReadonlyMap<string, string>,
): boolean {
  if (a === undefined || a.size !== b.size) return false;
  for (const [key, value] of b) if (a.get(key) !== value) return false;
  return true;
}
