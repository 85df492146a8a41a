import { type DecideOptions, type Decision, decide } from '../decide/decide.ts';
import type { Endpoint, EndpointGroup } from '../decide/endpoint.ts';
import { type EndpointReason, explain } from '../decide/endpoint-reasons.ts';
import { MatchCache } from '../decide/match-cache.ts';
import { ANY_KEY, CLOUD_KEY, type ManagedPolicy, type Policy, ZONE_KEY } from '../policy/policy.ts';
import { CloudOnlyServices } from './cloud-only-services.ts';
import type { NodeSet } from './node-set.ts';
import { NodeSets } from './node-set-registry.ts';
import { moveOfKey } from './own-node-move.ts';
import { type Communities, type OwnNode, OwnNodeState } from './own-node-state.ts';
import { PolicyStates } from './policy-states.ts';
import { TopologyChangeBuilder } from './topology-change.ts';
import { type TopologyListener, TopologyListeners } from './topology-listeners.ts';
import {
  communitiesOf,
  isEdge,
  type NodeContext,
  type TopologyMatch,
  type TopologyMatchSettings,
} from './topology-match.ts';
import { TopologyMatchCache } from './topology-match-cache.ts';
import { whyHidden } from './visibility.ts';
import { ServicesWithoutZone } from './without-zone.ts';

export type { Communities, OwnNode } from './own-node-state.ts';

export interface TopologyOptions {
  readonly nodeName: string;
  readonly relations: TopologyMatchSettings;
  /** Communities are declared by custom resources too: nothing is in force before these are known. */
  readonly declaredCommunities: boolean;
  /** Namespaces have a say in policies: the Services are complete only when these are known too. */
  readonly namespaces: boolean;
  /** Whether a Service whose traffic all goes to the cloud is hidden from an edge node. */
  readonly cloudPassthrough: boolean;
  /** Node sets that are watched at once at most; default: see NodeSets. */
  readonly maxNodeSets?: number;
}

/** What has to be told once before anything can be in force. */
type Source = 'services' | 'namespaces';

/**
 * What this node knows of the cluster: itself, the nodes related to it, the Services' policies.
 * Pure state: whoever watches the API server calls its transitions, and it notifies its listeners of the Services to
 * decide again.
 *
 * Invariant: a decision never mixes two states of the world. A new standpoint (own labels, declared
 * communities) and a new policy come into force only when the node sets they need have synced; until
 * then the old ones stand, and both kinds of node sets are wanted. A Service that had no policy before is
 * not shown meanwhile. Only the nodes of the zone, for endpoints without one, are not waited for: until they are known
 * such an endpoint does not match.
 */
export class Topology {
  readonly nodeName: string;
  readonly policies = new PolicyStates();
  /** Services hidden from this node because their traffic is the cloud's; see {@link setCloudOnly}. */
  readonly cloudOnly = new CloudOnlyServices();
  readonly #options: TopologyOptions;
  readonly #listeners = new TopologyListeners();
  readonly #sets: NodeSets;
  readonly #zoneless = new ServicesWithoutZone();
  readonly #awaited: Set<Source>;
  /** What {@link relates} says, remembered until a relation changes. */
  readonly #matches = new MatchCache((key, endpoint) => this.relates(key, endpoint));
  readonly #relations: TopologyMatchCache;
  readonly #state: OwnNodeState;

  constructor(options: TopologyOptions) {
    this.nodeName = options.nodeName;
    this.#options = options;
    this.#sets = new NodeSets(options.maxNodeSets);
    this.#relations = new TopologyMatchCache(options.relations);
    this.#state = new OwnNodeState(options.nodeName, options.declaredCommunities);
    this.#awaited = new Set(['services']);
    if (options.namespaces) this.#awaited.add('namespaces');
  }

  /** Calls a listener from now on; returns how to end that. */
  subscribe(listener: TopologyListener): () => void {
    return this.#listeners.add(listener);
  }

  /** Whether a change of this node waits for node sets. */
  get moves(): boolean {
    return this.#state.next !== undefined;
  }

  /** What is in force of this node; undefined while the Node is unknown. */
  get nodeContext(): NodeContext | undefined {
    return this.#state.current;
  }

  /** The node sets that are needed or linger, by selector. */
  get nodeSets(): ReadonlyMap<string, Readonly<NodeSet>> {
    return this.#sets.all;
  }

  /** Whether all that is known is in force: a view can be built, and is complete. */
  get settled(): boolean {
    return (
      this.#state.kind === 'inForce' && this.#awaited.size === 0 && this.policies.pending.size === 0
    );
  }

  /** Own Node seen or changed. A deleted Node keeps its last state: the last good answer stands. */
  setOwnNode(node: OwnNode): void {
    if (this.#state.setOwnNode(node)) this.#settle(new TopologyChangeBuilder());
  }

  /** All communities that custom resources declare, as of now. */
  setCommunities(communities: Communities): void {
    if (this.#state.setCommunities(communities)) this.#settle(new TopologyChangeBuilder());
  }

  /** Policies of Services that were seen, changed or (undefined) deleted, as `namespace/name`. */
  setPolicies(policies: ReadonlyMap<string, Policy | undefined>): void {
    const change = new TopologyChangeBuilder();
    for (const [service, policy] of policies) {
      if (!this.policies.set(service, policy)) continue;
      // What was shown of a Service that nobody knew is not to be seen while its first policy waits, but for a dry run.
      if (policy === undefined || this.policies.awaitsFirst(service)) change.addService(service);
    }
    this.#settle(change, [...policies.keys()]);
  }

  /** All Services, or all Namespaces, that exist at the start have been told. */
  setSynced(source: 'services' | 'namespaces'): void {
    this.#awaited.delete(source);
    this.#settle(new TopologyChangeBuilder());
  }

  /** Nodes that entered and left a node set. Unknown selectors are ignored: the set was just closed. */
  changeNodeSet(selector: string, added: Iterable<string>, removed: Iterable<string>): void {
    const wasKnown = this.#sets.all.get(selector)?.state === 'synced';
    // How this node relates to itself its own Node tells, see relates.
    const moved = this.#sets
      .move(selector, added, removed)
      .filter((node) => node !== this.nodeName);
    if (moved.length === 0) return;
    this.#matches.clear();
    const change = new TopologyChangeBuilder();
    change.firstKnown = !wasKnown;
    for (const key of this.#keysOver(selector)) for (const node of moved) change.addNode(node, key);
    this.#listeners.changed(change);
  }

  /** A node set is complete, or (with a message) refused by the API server. */
  setNodeSetState(selector: string, refusal?: string): void {
    this.#sets.setState(selector, refusal);
    this.#settle(new TopologyChangeBuilder());
  }

  /** Forgets a node set that no policy has needed for a while; does nothing to one that is needed. */
  dropNodeSet(selector: string): void {
    if (!this.#sets.drop(selector)) return;
    this.#matches.clear();
    this.#listeners.wanted(this.#wantedSelectors());
  }

  /**
   * A view has (true) or no longer has (false) endpoints of these Services that name a node but no zone. While a policy
   * of such a Service uses the zone key, the nodes of the zone are watched; nothing waits for them.
   */
  setZoneless(
    view: object,
    services: Iterable<readonly [service: string, zoneless: boolean]>,
  ): void {
    if (this.#zoneless.set(view, services)) this.#updateWanted();
  }

  /**
   * The view of slices that decides about cloud passthrough reports which of these Services it leaves to the cloud.
   * Those who show Services follow, before this returns.
   */
  setCloudOnly(services: ReadonlyMap<string, boolean>): void {
    if (this.cloudOnly.known && services.size === 0) return;
    this.cloudOnly.set(services);
    this.#listeners.visibility([...services.keys()]);
  }

  /** What applies to a Service on this node now; undefined while its first policy waits for node sets. */
  policyInForce(service: string): Policy | undefined {
    const from = this.nodeContext;
    // What is switched off has nothing to wait for.
    if (from?.off === true) return NODE_OFF;
    const policy = this.policies.inForce(service);
    if (policy === undefined || from === undefined) return policy;
    if (policy.managed && policy.edgeOnly === true && !isEdge(from, this.#options.relations)) {
      return CLOUD_NODE;
    }
    return policy;
  }

  /**
   * Whether a Service is hidden from the clients of this node.
   *
   * @param ofOtherProxy whether the settings leave it to another proxy, by the labels that the view at hand has
   */
  isHidden(service: string, ofOtherProxy: boolean): boolean {
    const known = {
      nodeOff: this.nodeContext?.off === true,
      ofOtherProxy,
      policy: this.policyInForce(service),
      wanted: this.policies.wanted(service),
      cloudOnly: this.cloudOnly.has(service),
    };
    return whyHidden(known) !== undefined;
  }

  /** Decides about all endpoints of a managed Service. */
  decide(
    groups: readonly EndpointGroup[],
    policy: ManagedPolicy,
    prefer?: DecideOptions['prefer'],
  ): Decision {
    const { keys, minReady } = policy;
    return decide(groups, this.#matches.by(keys), {
      ...(minReady === undefined ? {} : { minReady }),
      ...(prefer === undefined ? {} : { prefer }),
    });
  }

  /** Says of each endpoint of a managed Service why it is shown, or not. */
  explain(groups: readonly EndpointGroup[], policy: ManagedPolicy): EndpointReason[] {
    const { keys, minReady } = policy;
    return explain(groups, keys, this.relates, minReady === undefined ? {} : { minReady });
  }

  /**
   * Whether a Service is to be hidden from this node, so that its address is routed to the cloud: the cloud
   * was chosen for every port. In the cloud itself somebody has to serve it.
   */
  withholds({ keys }: ManagedPolicy, { ports }: Decision): boolean {
    const cloud = keys.indexOf(CLOUD_KEY);
    if (cloud < 0 || ports.length === 0 || !this.leavesAddressesToCloud) return false;
    return ports.every(({ key }) => key === cloud);
  }

  /** Whether this node hides Services so that their addresses are routed to the cloud. */
  get leavesAddressesToCloud(): boolean {
    const from = this.nodeContext;
    if (!this.#options.cloudPassthrough || from === undefined || from.off) return false;
    return isEdge(from, this.#options.relations);
  }

  /** Whether a key relates this node and an endpoint, as far as is in force. */
  readonly relates = (key: string, { node, zone }: Endpoint): boolean => {
    if (key === ANY_KEY) return true;
    if (node === '') return false;
    if (key === ZONE_KEY && zone !== '') return this.nodeContext?.labels.get(key) === zone;
    const relation = this.relation(key);
    if (relation === undefined) return false;
    if (node === this.nodeName) return relation.self;
    if (relation.nodes.has(node)) return true;
    return this.#sets.include(relation.selectors, node);
  };

  /** The relation in force of a key; undefined while the Node is unknown. */
  relation(key: string): TopologyMatch | undefined {
    const from = this.nodeContext;
    return from === undefined ? undefined : this.#relations.of(from, key);
  }

  /** The communities this node is in, by what is in force. */
  communities(): readonly string[] {
    const from = this.nodeContext;
    return from === undefined ? [] : communitiesOf(from, this.#options.relations.communities);
  }

  /** Selectors of the node sets that a Service, or a change of this node that touches it, waits for. */
  waitsFor(service: string): readonly string[] {
    const policy = this.policies.wanted(service);
    if (!policy.managed) return [];
    const pending = this.policies.pending.has(service);
    const from = this.#state.next ?? (pending ? this.nodeContext : undefined);
    if (from === undefined) return [];
    const selectors = policy.keys.flatMap((key) => this.#requiredBy(key, from));
    return selectors.filter((selector) => !this.#sets.areKnown([selector]));
  }

  /** Keys in use whose relation in force depends on a node set. */
  *#keysOver(selector: string): Generator<string> {
    for (const key of this.policies.keysInUse()) {
      if (this.relation(key)?.selectors.includes(selector) === true) yield key;
    }
  }

  /**
   * Puts in force what has all it needs, then tells the listeners.
   *
   * @param services the only Services of which anything changed; default: more than that did. What a policy waits
   *   for depends on itself, the standpoint and the states of node sets: while these stay, all other policies that
   *   wait go on waiting.
   */
  #settle(change: TopologyChangeBuilder, services?: readonly string[]): void {
    this.#updateWanted();
    let candidates: Iterable<string> = services ?? this.policies.pending;
    // Each may be what the other waits for: a policy that goes may have held up the standpoint.
    for (;;) {
      if (this.#adoptNodeContext(change)) candidates = this.policies.pending;
      else if (!this.#activatePolicies(change, candidates)) break;
    }
    this.#updateWanted();
    this.#listeners.changed(change);
  }

  /** Puts those of these Services' policies in force that wait for nothing. Returns whether there were any. */
  #activatePolicies(change: TopologyChangeBuilder, services: Iterable<string>): boolean {
    const from = this.nodeContext;
    if (from === undefined) return false;
    let activated = false;
    for (const service of services) {
      if (!this.policies.pending.has(service)) continue;
      if (!this.#isResolved(this.policies.wanted(service), from)) continue;
      this.policies.activate(service);
      change.addService(service);
      activated = true;
    }
    return activated;
  }

  /** Starting or moving → in force, if all that the next standpoint needs is known. Returns whether it is now. */
  #adoptNodeContext(change: TopologyChangeBuilder): boolean {
    const { current, next } = this.#state;
    if (next === undefined) return false;
    const keys = [...this.policies.keysInUse()];
    if (!keys.every((key) => this.#sets.areKnown(this.#requiredBy(key, next)))) return false;
    if (current?.off !== next.off) {
      for (const service of this.policies.services()) change.addService(service);
    }
    const movedKeys: string[] = [];
    // A policy for edge nodes only has the cloud among its keys, so that it is among the touched ones here.
    for (const key of keys) {
      const after = this.#relations.of(next, key);
      const { moved, nodes } = moveOfKey(key, this.relation(key), after, (each) =>
        this.#nodesOf(each),
      );
      if (moved) movedKeys.push(key);
      if (nodes !== undefined) for (const node of nodes) change.addNode(node, key);
      else for (const service of this.policies.usersOf(key)) change.addService(service);
    }
    change.ownNode = movedKeys;
    this.#state.adopt();
    this.#matches.clear();
    return true;
  }

  /** The other nodes of a relation, as far as they are known. */
  #nodesOf({ selectors, nodes }: TopologyMatch): ReadonlySet<string> {
    const all = new Set(nodes);
    for (const selector of selectors) {
      for (const node of this.#sets.all.get(selector)?.members ?? []) all.add(node);
    }
    all.delete(this.nodeName);
    return all;
  }

  /** Whether every node set that a policy waits for is known, or known to be refused. */
  #isResolved(policy: Policy, from: NodeContext): boolean {
    if (!policy.managed) return true;
    return policy.keys.every((key) => this.#sets.areKnown(this.#requiredBy(key, from)));
  }

  /** The node sets that must be known before a key can be decided. */
  #requiredBy(key: string, from: NodeContext): readonly string[] {
    // Where filtering is switched off nothing is decided. The zone is mostly told by the endpoint itself.
    return from.off || key === ZONE_KEY ? [] : this.#relations.of(from, key).selectors;
  }

  *#selectorsFrom(from: NodeContext | undefined): Generator<string> {
    if (from === undefined || from.off) return;
    for (const key of this.policies.keysInUse()) {
      if (key === ZONE_KEY && !this.#zoneless.hasAnyOf(this.policies.usersOf(key))) continue;
      yield* this.#relations.of(from, key).selectors;
    }
  }

  #updateWanted(): void {
    const wanted = this.#wantedSelectors();
    if (!this.#sets.want(wanted)) return;
    this.#matches.clear();
    this.#listeners.wanted(wanted);
  }

  #wantedSelectors(): ReadonlySet<string> {
    const { current, next } = this.#state;
    return new Set([current, next].flatMap((from) => [...this.#selectorsFrom(from)]));
  }
}

const NODE_OFF: Policy = { managed: false, reason: 'node-off' };
const CLOUD_NODE: Policy = { managed: false, reason: 'cloud-node' };
