import type { Endpoint } from '../../../src/topology/decide/endpoint.ts';
import type { ManagedPolicy, Policy } from '../../../src/topology/policy/policy.ts';
import type { FoundNodes } from '../../../src/topology/state/node-lookups.ts';
import { Topology, type TopologyOptions } from '../../../src/topology/state/topology.ts';
import type { TopologyChange } from '../../../src/topology/state/topology-change.ts';
import { ManualClock } from '../clocks.ts';
import { groupOf } from './endpoint-group.ts';
import { notWatched, PLAIN_TOPOLOGY } from './plain-topology.ts';

/** A policy with these keys, from an annotation. */
export function managed(...keys: string[]): ManagedPolicy {
  return { managed: true, keys, source: 'annotation' };
}

/** A ready endpoint on a node. */
export function on(node: string, zone = ''): Endpoint {
  return { family: 'IPv4', node, zone, state: 'ready', terminating: false };
}

/** The topology of node `edge-1`, and what it reports to a listener. */
export class TopologyHarness {
  readonly topology: Topology;
  /** Closes node sets that are not needed. */
  readonly clock = new ManualClock();
  /** Looks Nodes up again. */
  readonly lookupClock = new ManualClock();
  /** Names that are being looked up. */
  lookedUp: readonly string[] = [];
  #answer: (found: FoundNodes) => void = () => undefined;
  #changes: TopologyChange[] = [];
  constructor(options: Partial<TopologyOptions> = {}) {
    this.topology = new Topology({
      ...PLAIN_TOPOLOGY,
      nodeName: 'edge-1',
      nodeSetWatcher: notWatched(this.clock),
      nodeFinder: {
        clock: this.lookupClock,
        find: ({ names, hostnames }, done) => {
          this.lookedUp = [...names, ...hostnames];
          this.#answer = done;
        },
        onTooMany: () => undefined,
      },
      ...options,
    });
    this.topology.subscribe((change) => this.#changes.push(change));
  }

  /** Selectors of the node sets that are needed, sorted. */
  get wanted(): string[] {
    const needed = [...this.topology.nodeSets.values()].filter((set) => set.needed);
    return needed.map(({ selector }) => selector).sort();
  }

  /** Changes since the last call of {@link touched}. */
  get changes(): readonly TopologyChange[] {
    return this.#changes;
  }

  /** Services affected since the last call. */
  touched(): string[] {
    const services = new Set(this.#changes.flatMap((change) => [...change.services]));
    this.#changes = [];
    return [...services].sort();
  }

  /** Nodes changed since the last call of {@link touched}, with the keys concerned. */
  touchedNodes(): Record<string, string[]> {
    const nodes = this.#changes.flatMap((change) => [...change.nodes]);
    return Object.fromEntries(nodes.map(([node, keys]) => [node, [...keys]]));
  }

  /** Whether this node sees each of these endpoints, if a Service has only that one. */
  sees(keys: string[], ...endpoints: Endpoint[]): boolean[] {
    return endpoints.map((endpoint) => {
      const groups = [groupOf([], [endpoint])];
      return this.topology.decide('default/other', groups, managed(...keys))?.keep[0] === 1;
    });
  }

  /** Whether this node sees each of these endpoints of one Service. Looks up what that depends on, as a view does. */
  seesAfterLookup(keys: string[], ...endpoints: Endpoint[]): boolean[] {
    const groups = [groupOf([], endpoints)];
    this.topology.lookUpNodes('default/other', managed(...keys), groups);
    this.lookupClock.pass(0);
    return this.sees(keys, ...endpoints);
  }

  /** Answers the look-up with the zones of the Nodes that exist. */
  found(zones: Record<string, string>): void {
    this.lookedUp = [];
    this.#answer({ zones: new Map(Object.entries(zones)) });
  }

  setOwnLabels(own: Record<string, string>): void {
    this.topology.setOwnNode({ labels: new Map(Object.entries(own)), annotations: new Map() });
  }

  /** Sets the topology keys of a Service, or (without) removes it. */
  setKeys(service: string, ...keys: string[]): void {
    const policy = keys.length === 0 ? undefined : managed(...keys);
    this.topology.setPolicies(new Map([[service, policy]]));
  }

  /** Adds nodes to a node set, and completes it. */
  sync(selector: string, ...nodes: string[]): void {
    this.topology.nodeSets.get(selector)?.change(nodes, []);
    this.topology.nodeSets.get(selector)?.sync();
  }

  /** Sets own labels and all policies. */
  settle(own: Record<string, string>, policies: Record<string, Policy>): void {
    this.setOwnLabels(own);
    this.topology.setPolicies(new Map(Object.entries(policies)));
    this.topology.setSynced('services');
  }
}
