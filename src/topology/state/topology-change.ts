/** What a change of the topology may affect. A view decides these Services again, and no others. */
export class TopologyChange {
  /** Services (`namespace/name`) whose policy changed, or for which other nodes match. */
  readonly services: Set<string>;
  /**
   * Nodes that match now and did not before, or the reverse, each with the topology keys concerned. This affects the
   * Services that use one of these keys and have an endpoint on the node.
   */
  readonly nodes = new Map<string, Set<string>>();
  /**
   * Topology keys that match other nodes because this node changed; undefined: this node did not change.
   */
  ownNode: readonly string[] | undefined;
  /**
   * Whether filtering on this node was switched off or on, or this node has become an edge node or a cloud node. This
   * may hide or show any object.
   */
  isSwitched = false;

  constructor(services: readonly string[] = []) {
    this.services = new Set(services);
  }

  addNode(node: string, key: string): void {
    const keys = this.nodes.get(node) ?? new Set();
    this.nodes.set(node, keys.add(key));
  }
}
