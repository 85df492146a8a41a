/** What a change of the topology may affect. A view decides these Services again, and no others. */
export interface TopologyChange {
  /** Services (`namespace/name`) whose policy changed, or for which other nodes match. */
  readonly services: ReadonlySet<string>;
  /**
   * Nodes that match now and did not before, or the reverse, each with the topology keys concerned. This affects the
   * Services that use one of these keys and have an endpoint on the node.
   */
  readonly nodes: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * Topology keys that match other nodes because this node changed; undefined: this node did not change. What a
   * change of this node affects takes effect immediately, whatever a return delay holds.
   */
  readonly ownNode?: readonly string[];
  /** The nodes of the set were not known before. What they affect takes effect immediately too. */
  readonly firstKnown?: boolean;
}

/** Collects all that one change affects. */
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
