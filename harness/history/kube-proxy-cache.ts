/**
 * The backends that kube-proxy 1.36 and 1.37 make of the slices of a Service, written from its cache
 * (pkg/proxy/endpointslicecache.go). It keeps the slices in a Go map, so their order is another one at each sync.
 */

export interface CachedEndpoint {
  /** The first one; undefined: it has none. */
  readonly address: string | undefined;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

export interface CachedSlice {
  /** By `<protocol>/<name>`; undefined or 0: the port has no number. */
  readonly ports: readonly { readonly key: string; readonly number: number | undefined }[];
  readonly endpoints: readonly CachedEndpoint[];
}

/** The backends of a port as sorted `address:number`: the ready ones, and those that still serve. */
export interface Backends {
  readonly ready: readonly string[];
  readonly ending: readonly string[];
}

/** The backends of a port if the slices come in this order. Connections go to the ready ones, else to the others. */
export function backendsOf(slices: readonly CachedSlice[], port: string): Backends {
  const backends = new Map<string, CachedEndpoint>();
  for (const { ports, endpoints } of slices) {
    for (const { key, number } of ports) {
      if (key !== port || number === undefined || number === 0) continue;
      for (const endpoint of endpoints) {
        if (endpoint.address === undefined) continue;
        const id = `${endpoint.address}:${number}`;
        if (!backends.has(id) || !endpoint.terminating) backends.set(id, endpoint);
      }
    }
  }
  const idsOf = (isWanted: (endpoint: CachedEndpoint) => boolean) =>
    [...backends].flatMap(([id, each]) => (isWanted(each) ? id : [])).sort();
  return {
    ready: idsOf(({ ready }) => ready),
    ending: idsOf(({ ready, serving, terminating }) => !ready && serving && terminating),
  };
}

/** All orders of some slices. */
export function ordersOf<T>(all: readonly T[]): T[][] {
  if (all.length < 2) return [[...all]];
  return all.flatMap((first, at) => ordersOf(all.toSpliced(at, 1)).map((rest) => [first, ...rest]));
}
