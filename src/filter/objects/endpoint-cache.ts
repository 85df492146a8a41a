import type { Endpoint } from '../../topology/decide/endpoint.ts';

/** The cache starts again when it takes more bytes. Without it, nodes and zones that are gone would accumulate. */
const MAX_CACHE_BYTES = 8 * 1024 * 1024;
/** An entry without its texts. */
const CACHE_ENTRY_BYTES = 120;
/** Maximum number of entries per node. A node has few; a node whose zone changes constantly starts again. */
const MAX_PER_NODE = 64;

/** Stores equal endpoints once: for a decision, 100,000 endpoints differ only in node, zone and state. */
export class EndpointCache {
  readonly #byNode = new Map<string, Endpoint[]>();
  #bytes = 0;

  /** Returns the one object for an endpoint with these values, and with nothing else. */
  intern({ family, node, zone, state, terminating }: Endpoint): Endpoint {
    let cached = this.#byNode.get(node);
    for (let at = 0; at < (cached?.length ?? 0); at++) {
      const endpoint = (cached as Endpoint[])[at] as Endpoint;
      const isInState = endpoint.state === state && endpoint.terminating === terminating;
      if (isInState && endpoint.zone === zone && endpoint.family === family) return endpoint;
    }
    const endpoint: Endpoint = { family, node, zone, state, terminating };
    const bytes = CACHE_ENTRY_BYTES + node.length + zone.length;
    this.#bytes += bytes;
    if (this.#bytes > MAX_CACHE_BYTES) {
      this.#byNode.clear();
      this.#bytes = bytes;
      cached = undefined;
    }
    cached ??= [];
    if (cached.length >= MAX_PER_NODE) cached.length = 0;
    cached.push(endpoint);
    this.#byNode.set(node, cached);
    return endpoint;
  }
}
