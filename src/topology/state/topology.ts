/*
 * The room `state`: what the decisions of this node depend on, and when it changes.
 *
 * - topology.ts: the state as a whole; topology-change.ts: what a change may affect
 * - own-node-state.ts, policy-states.ts: the states of this node and of policies
 * - node-set.ts: a node set, with its watch and its timer; node-set-registry.ts, node-set-shares.ts: which are open
 * - activation.ts: makes active what has all its node sets
 * - key-matcher.ts, topology-match.ts: which nodes and endpoints a topology key matches
 * - node-lookups.ts: the Nodes that only a field of endpoints puts into this node's zone; lookup-wait.ts: how long
 *   views wait for them
 * - decide-service.ts, service-outcome.ts: what this node makes of a Service, and whether it hides it
 * - view-reports.ts: what views have reported about Services
 */

import { type Decision, decide } from '../decide/decide.ts';
import type { Endpoint, EndpointGroup } from '../decide/endpoint.ts';
import {
  CLOUD_NODE,
  type ManagedPolicy,
  NODE_OFF,
  NODE_SET_LIMIT,
  type Policy,
} from '../policy/policy.ts';
import { CLOUD_KEY, HOSTNAME_KEY, ZONE_KEY } from '../policy/topology-keys.ts';
import { Activation } from './activation.ts';
import { KeyMatcher } from './key-matcher.ts';
import { type NodeFinder, NodeLookups } from './node-lookups.ts';
import type { NodeSet, NodeSetWatcher, NodeWatch } from './node-set.ts';
import { NodeSetRegistry } from './node-set-registry.ts';
import { type Communities, type OwnNode, OwnNodeState } from './own-node-state.ts';
import { PolicyStates } from './policy-states.ts';
import { isHidden, kindOf } from './service-outcome.ts';
import { TopologyChange } from './topology-change.ts';
import {
  communitiesOf,
  isEdge,
  type NodeContext,
  ownValue,
  type TopologyMatch,
  type TopologyMatchSettings,
} from './topology-match.ts';
import { ViewReports } from './view-reports.ts';

export type { Communities, OwnNode } from './own-node-state.ts';

export interface TopologyOptions<Watch extends NodeWatch = NodeWatch> {
  readonly nodeName: string;
  readonly topologyMatch: TopologyMatchSettings;
  /** Custom resources declare communities too: nothing becomes active before these are known. */
  readonly declaredCommunities: boolean;
  /** Namespaces have policies too: the Services are complete only when the Namespaces are known. */
  readonly namespaces: boolean;
  /** Whether an edge node hides a Service whose traffic all goes to the cloud. */
  readonly withholdsServices: boolean;
  /** Node sets that are watched at the same time at most; default: see NodeSetRegistry. */
  readonly maxNodeSets?: number;
  readonly nodeSetWatcher: NodeSetWatcher<Watch>;
  readonly nodeFinder: NodeFinder;
}

/** What must be complete once before the topology is. */
type RequiredCollection = 'services' | 'namespaces';

/**
 * The part of the cluster that decisions of this node depend on: this node, the nodes that its topology keys match,
 * and the Services' policies. Pure state: watchers of the API server call its `set…` methods, and it notifies its
 * listeners of the Services to decide again.
 *
 * Invariant: a decision never mixes two states of the topology. A new node context (own labels, declared communities)
 * and a new policy become active only when the node sets that they require are known. Until then the previous ones
 * remain active, and the node sets of both are watched. A Service that had no policy before is hidden meanwhile.
 */
export class Topology<Watch extends NodeWatch = NodeWatch> {
  readonly nodeName: string;
  readonly policies = new PolicyStates();
  readonly #options: TopologyOptions<Watch>;
  readonly #listeners = new Set<(change: TopologyChange) => void>();
  /** Services that the topology does not read, and whether their labels hide them. */
  readonly #unread = new ViewReports<boolean>();
  readonly #nodeSets: NodeSetRegistry<Watch>;
  readonly #ownNode: OwnNodeState;
  /** What is known of Nodes outside the node set of the zone. */
  readonly lookups: NodeLookups;
  readonly #matcher: KeyMatcher;
  readonly #activation: Activation;
  #withheld: Set<string> | undefined;
  /** Not complete yet. */
  readonly #incomplete: Set<RequiredCollection>;

  constructor(options: TopologyOptions<Watch>) {
    const { nodeName, topologyMatch, declaredCommunities, namespaces } = options;
    this.nodeName = nodeName;
    this.#options = options;
    this.#nodeSets = new NodeSetRegistry({
      max: options.maxNodeSets,
      watcher: options.nodeSetWatcher,
      onMoved: (set, nodes) => this.#onNodesMoved(set, nodes),
      onState: (set, affectsUsers) => this.#onNodeSetState(set, affectsUsers),
      onClosed: () => this.#matcher.invalidate(),
    });
    this.#ownNode = new OwnNodeState(nodeName, declaredCommunities);
    this.lookups = new NodeLookups({
      finder: options.nodeFinder,
      ownZone: () => this.nodeContext && ownValue(ZONE_KEY, this.nodeContext),
      version: () => this.#zoneVersion,
      onNodes: (nodes) => this.#onNodesFound(nodes),
    });
    this.#matcher = new KeyMatcher(
      nodeName,
      topologyMatch,
      this.#ownNode,
      this.#nodeSets,
      this.lookups,
    );
    this.#activation = new Activation(this.policies, this.#matcher);
    this.#incomplete = new Set(namespaces ? ['services', 'namespaces'] : ['services']);
  }

  /** Calls a listener with each change, synchronously, when it is active. */
  subscribe(listener: (change: TopologyChange) => void): void {
    this.#listeners.add(listener);
  }

  /** Whether a change of this node waits for node sets. */
  get hasPending(): boolean {
    return this.#ownNode.pending !== undefined;
  }

  /** The active node context; undefined until there is one. */
  get nodeContext(): NodeContext | undefined {
    return this.#ownNode.active;
  }

  /** The node sets that are needed or linger, by selector. */
  get nodeSets(): ReadonlyMap<string, NodeSet<Watch>> {
    return this.#nodeSets.all;
  }

  /** The Services that this node hides because all their traffic goes to the cloud; undefined: not known yet. */
  get withheld(): ReadonlySet<string> | undefined {
    return this.#withheld;
  }

  /** Whether the state is complete and all of it is active, so that a view can be built. */
  get synced(): boolean {
    if (this.nodeContext === undefined || this.hasPending || this.#incomplete.size > 0)
      return false;
    if (this.policies.withPending.size > 0) return false;
    return this.nodeContext.off || this.#nodeSets.areSettled(this.#activation.neededSelectors());
  }

  /** Own Node added or changed. A deleted Node is not reported: its last state remains active. */
  setOwnNode(node: OwnNode): void {
    if (this.#ownNode.setOwnNode(node)) this.#settle();
  }

  /** All communities that custom resources declare now. */
  setCommunities(communities: Communities): void {
    if (this.#ownNode.setCommunities(communities)) this.#settle();
  }

  /**
   * Policies of Services that were added, changed or (undefined) deleted, by `namespace/name`.
   *
   * @param ports what is known of their ports, see DecideOptions. They become active immediately, also if the policy
   *   waits for node sets: clients see the Service with its new ports now.
   */
  setPolicies(
    policies: ReadonlyMap<string, Policy | undefined>,
    ports: ReadonlyMap<string, readonly string[] | undefined> = new Map(),
  ): void {
    const change = new TopologyChange();
    for (const [service, policy] of policies) {
      if (!this.policies.set(service, policy)) continue;
      // Slices of an unknown Service are shown. While its first policy is pending they must go, except in a dry run.
      if (policy === undefined || this.policies.awaitsFirst(service)) change.services.add(service);
    }
    for (const [service, list] of ports) {
      if (this.policies.setPorts(service, list)) change.services.add(service);
    }
    this.#settle(change, [...policies.keys()]);
  }

  /** All Services, or all Namespaces, that exist at the start were set. */
  setSynced(source: RequiredCollection): void {
    this.#incomplete.delete(source);
    this.#settle();
  }

  /**
   * Which of these Services are hidden because all their traffic goes to the cloud; the view of slices that decides
   * about cloud passthrough reports them, first all of them. No listener is called.
   */
  setWithheld(services: ReadonlyMap<string, boolean>): void {
    this.#withheld ??= new Set();
    for (const [service, isWithheld] of services) {
      if (isWithheld) this.#withheld.add(service);
      else this.#withheld.delete(service);
    }
  }

  /**
   * Services of a view that kube-proxy does not read, and whether it hides them; undefined: not among them (now).
   * Returns the change, for which no listener is called; undefined: none.
   */
  setUnreadServices(
    view: object,
    services: ReadonlyMap<string, boolean | undefined>,
  ): TopologyChange | undefined {
    return changeOf(this.#unread.set(view, services));
  }

  /** A view was closed: what it has reported no longer counts. Returns as {@link setUnreadServices}. */
  forgetView(view: object): TopologyChange | undefined {
    return changeOf(this.#unread.forget(view));
  }

  /** Whether a Service that the topology does not read is hidden by its labels; undefined: no view has it. */
  isUnreadHidden(service: string): boolean | undefined {
    return this.#unread.get(service);
  }

  /** The active policy of a Service on this node; undefined while its first policy is not active yet. */
  activePolicy(service: string): Policy | undefined {
    const context = this.nodeContext;
    // First: with filtering off, nothing waits for node sets.
    return context?.off === true ? NODE_OFF : this.#appliedPolicy(service, context);
  }

  /**
   * The same for the Service of relays, also while an annotation of this node switches filtering off: the switch must
   * not move a site to a slow link. Undefined while the nodes are not known that it needs.
   */
  relayPolicy(service: string): Policy | undefined {
    const context = this.nodeContext;
    const policy = this.#appliedPolicy(service, context);
    if (context === undefined) return undefined;
    if (policy?.managed !== true || this.#activation.knows(policy, context)) return policy;
    return undefined;
  }

  #appliedPolicy(service: string, context: NodeContext | undefined): Policy | undefined {
    const policy = this.policies.active(service);
    if (policy === undefined || context === undefined) return policy;
    if (!policy.managed) return policy;
    if (policy.edgeOnly === true && !this.#isEdge(context)) return CLOUD_NODE;
    return this.#activation.applies(policy) ? policy : NODE_SET_LIMIT;
  }

  /**
   * Whether a Service is hidden from the clients of this node.
   *
   * @param ofOtherProxy whether the settings leave it to another proxy, by the labels that the calling view has
   */
  isHidden(service: string, ofOtherProxy: boolean): boolean {
    return isHidden(
      kindOf({
        ofOtherProxy,
        policy: this.activePolicy(service),
        pendingOrActive: this.policies.pendingOrActive(service),
        withheld: this.#withheld?.has(service) === true,
      }),
    );
  }

  /** Looks up the Nodes that a decision about these endpoints depends on, and that no node set has. */
  lookUpNodes(service: string, { keys }: ManagedPolicy, groups: readonly EndpointGroup[]): void {
    if (!keys.includes(ZONE_KEY)) return;
    const namespace = service.slice(0, service.indexOf('/'));
    let hasRoom = true;
    for (const node of this.#matcher.namedByField(groups)) {
      if (!this.lookups.request(node, namespace, hasRoom)) hasRoom = false;
    }
    if (!hasRoom) this.#options.nodeFinder.onTooMany(namespace);
  }

  /** Decides about all endpoints of a managed Service; undefined: it is too large. */
  decide(
    service: string,
    groups: readonly EndpointGroup[],
    policy: ManagedPolicy,
  ): Decision | undefined {
    const { keys, minReady, keepsLocal } = policy;
    const alsoKeep = (endpoint: Endpoint) => this.#matcher.matches(HOSTNAME_KEY, endpoint);
    return decide(groups, this.#matcher.keyMaskBy(keys), {
      ports: this.policies.ports(service),
      minReady,
      alsoKeep: keepsLocal ? alsoKeep : undefined,
    });
  }

  /**
   * Whether this node must hide a Service so that its address is routed to the cloud: the cloud key won for every
   * port with endpoints, and none is kept in addition. A cloud node never hides it, because cloud nodes serve it.
   */
  isWithheld({ keys, headless }: ManagedPolicy, { ports, added }: Decision): boolean {
    // It has no address to route, only names.
    if (headless === true) return false;
    const cloud = keys.indexOf(CLOUD_KEY);
    if (cloud < 0 || added > 0 || !this.withholdsServices) return false;
    const withEndpoints = ports.filter(({ stage }) => stage !== 'none');
    return withEndpoints.length > 0 && withEndpoints.every(({ key }) => key === cloud);
  }

  /** Whether this node hides Services so that their addresses are routed to the cloud. */
  get withholdsServices(): boolean {
    const context = this.nodeContext;
    if (!this.#options.withholdsServices || context === undefined || context.off) return false;
    return this.#isEdge(context);
  }

  /** What a key matches now; undefined until there is a node context. */
  matchOf(key: string): TopologyMatch | undefined {
    return this.#matcher.active(key);
  }

  /** The communities that this node is in now. */
  communities(): readonly string[] {
    const context = this.nodeContext;
    if (context === undefined) return [];
    return communitiesOf(context, this.#options.topologyMatch.communities);
  }

  /** Selectors of the node sets that a Service, or a change of this node that affects it, waits for. */
  waitsFor(service: string): readonly string[] {
    return this.#activation.waitsFor(service);
  }

  /** Ends the look-ups and the watches of all node sets, and waits for these. */
  close(): Promise<void> {
    this.lookups.close();
    return this.#nodeSets.close();
  }

  #onNodesMoved({ selector }: NodeSet, nodes: readonly string[]): void {
    // Whether this node itself matches depends on its own Node, see KeyMatcher.matches.
    const changed = nodes.filter((node) => node !== this.nodeName);
    if (changed.length === 0) return;
    this.#matcher.invalidate();
    const change = new TopologyChange();
    for (const key of this.#matcher.keysOfOtherNodes(this.nodeContext)) {
      if (this.matchOf(key)?.selectors.includes(selector) !== true) continue;
      if (this.policies.usersOf(key).size === 0) continue;
      if (key === ZONE_KEY) this.lookups.forget(changed);
      for (const node of changed) change.addNode(node, key);
    }
    this.#notify(change);
  }

  get #zoneVersion(): string {
    const [selector = ''] = this.matchOf(ZONE_KEY)?.selectors ?? [];
    return this.#nodeSets.all.get(selector)?.watch?.status.version ?? '';
  }

  #onNodesFound(nodes: readonly string[]): void {
    this.#matcher.invalidate();
    const change = new TopologyChange();
    for (const node of nodes) change.addNode(node, ZONE_KEY);
    this.#notify(change);
  }

  /** @param affectsUsers whether all Services that need the set must be decided again */
  #onNodeSetState({ selector }: NodeSet, affectsUsers: boolean): void {
    const change = new TopologyChange();
    if (affectsUsers) this.#activation.addUsers(change, selector);
    this.#settle(change);
  }

  /**
   * Makes active what can be, and notifies the listeners.
   *
   * @param change what is affected already
   * @param services the only Services that changed; undefined: something else changed too
   */
  #settle(change = new TopologyChange(), services?: readonly string[]): void {
    this.#activation.settle(change, services);
    this.#notify(change);
  }

  #notify(change: TopologyChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  #isEdge(context: NodeContext): boolean {
    return isEdge(context, this.#options.topologyMatch);
  }
}

/** A change that affects these Services; undefined: there are none. */
function changeOf(services: readonly string[]): TopologyChange | undefined {
  return services.length === 0 ? undefined : new TopologyChange(services);
}
