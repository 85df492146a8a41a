/** What a change of the world may alter; a view looks at these Services again, and at no others. */
export interface TopologyChange {
  /** Services (`namespace/name`) whose policy or whose relation to this node changed. */
  readonly services: ReadonlySet<string>;
  /**
   * Nodes that entered or left a relation, each with the topology keys concerned: Services that use one of
   * these keys and have an endpoint on the node are touched.
   */
  readonly nodes: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * Topology keys that stand for other nodes because this node has changed; undefined: it has not. What a change
   * of this node touches takes effect at once, whatever a return delay holds.
   */
  readonly ownNode?: readonly string[];
  /** The nodes were not known before: what they touch takes effect at once, too. */
  readonly firstKnown?: boolean;
}

/** Gathers all that one change touches. */
export class TopologyChangeBuilder implements TopologyChange {
  readonly services = new Set<string>();
  readonly nodes = new Map<string, Set<string>>();
  ownNode?: readonly string[];
  firstKnown?: boolean;

  addService(service: string): void {
    this.services.add(service);
  }

  addNode(node: string, key: string): void {
    const keys = this.nodes.get(node) ?? new Set();
    this.nodes.set(node, keys.add(key));
  }
}
