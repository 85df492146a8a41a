import type { Endpoint, EndpointState } from '../../topology/decide/endpoint.ts';

/** Maximum number of nodes in the cache. Without it, names of deleted nodes would accumulate. */
const MAX_NODES = 50_000;
/** Maximum number of entries per node. A node has few; a node whose zone changes constantly starts again. */
const MAX_PER_NODE = 64;

/** Stores equal endpoints once: for a decision, 100,000 endpoints differ only in node, zone and state. */
export class EndpointCache {
  readonly #byNode = new Map<string, Endpoint[]>();

  /** Returns the one object for an endpoint with these values. */
  intern(family: string, node: string, zone: string, state: EndpointState): Endpoint {
    let cached = this.#byNode.get(node);
    if (cached === undefined) {
      if (this.#byNode.size >= MAX_NODES) this.#byNode.clear();
      cached = [];
      this.#byNode.set(node, cached);
    }
    for (const endpoint of cached) {
      if (endpoint.state === state && endpoint.zone === zone && endpoint.family === family) {
        return endpoint;
      }
    }
    const endpoint: Endpoint = { family, node, zone, state };
    if (cached.length >= MAX_PER_NODE) cached.length = 0;
    cached.push(endpoint);
    return endpoint;
  }
}
