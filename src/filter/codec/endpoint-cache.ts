import type { Endpoint, EndpointState } from '../../topology/decide/endpoint.ts';

/** More nodes than this are not remembered at once; names of nodes that are long gone may pile up. */
const MAX_NODES = 50_000;

/** Keeps equal endpoints once: 100,000 differ, for a decision, in a few nodes, zones and states. */
export class EndpointCache {
  readonly #byNode = new Map<string, Endpoint[]>();

  of(family: string, node: string, zone: string, state: EndpointState): Endpoint {
    let known = this.#byNode.get(node);
    if (known === undefined) {
      if (this.#byNode.size >= MAX_NODES) this.#byNode.clear();
      known = [];
      this.#byNode.set(node, known);
    }
    for (const endpoint of known) {
      if (endpoint.state === state && endpoint.zone === zone && endpoint.family === family) {
        return endpoint;
      }
    }
    const endpoint: Endpoint = { family, node, zone, state };
    // Of one node there are a handful; one whose zone changes all the time starts over.
    if (known.length >= 64) known.length = 0;
    known.push(endpoint);
    return endpoint;
  }
}
