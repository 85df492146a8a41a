/** An entry of the list in `nft -j list ruleset`, with the fields that we read. */
export interface NftEntry {
  readonly map?: {
    readonly family: string;
    readonly name: string;
    readonly elem?: readonly (readonly [unknown, unknown])[];
  };
  readonly rule?: {
    readonly family: string;
    readonly chain: string;
    readonly expr: readonly unknown[];
  };
}

/**
 * Finds the endpoints of a `clusterIP:port`, or `clusterIP:port/udp`, in the JSON of `nft -j list ruleset`; see
 * kernel-table.ts. kube-proxy looks it up in the map service-ips, which names the Service's
 * chain; that has a dnat to a map of endpoints (since 1.35) or goes on to a chain for each of
 * them. A Service without endpoints is in the map no-endpoint-services.
 */
export function backendsInNftables(ruleset: string, target: string): string[] | undefined {
  const { nftables } = JSON.parse(ruleset) as { nftables: NftEntry[] };
  const family = target.startsWith('[') ? 'ip6' : 'ip';
  const lookUpIn = (name: string) => lookUp(nftables, family, name, target);
  const chain = lookUpIn('service-ips');
  if (chain === undefined) return lookUpIn('no-endpoint-services') === undefined ? undefined : [];
  const backends = new Set<string>();
  const chains = [chain];
  // A chain found on the way is appended, so the loop comes to it too.
  for (const current of chains) {
    const rules = nftables.filter(({ rule }) => rule?.family === family && rule.chain === current);
    for (const { rule } of rules) {
      for (const backend of dnatTargets(rule?.expr)) backends.add(backend);
      for (const next of verdictChains(rule?.expr)) if (!chains.includes(next)) chains.push(next);
    }
  }
  return [...backends].sort();
}

/** The chain that the map names for `ip . protocol . port`. */
function lookUp(
  entries: readonly NftEntry[],
  family: 'ip' | 'ip6',
  name: string,
  target: string,
): string | undefined {
  const map = entries.find((entry) => entry.map?.family === family && entry.map.name === name)?.map;
  for (const [key, verdict] of map?.elem ?? []) {
    const [concat] = valuesOf(key, 'concat') as [[string, string, number]?];
    if (concat === undefined) continue;
    const [host, protocol, port] = concat;
    if (targetOf(host, port, protocol) === target) return verdictChains(verdict)[0];
  }
  return undefined;
}

function verdictChains(json: unknown): string[] {
  const verdicts = [...valuesOf(json, 'goto'), ...valuesOf(json, 'jump')];
  return verdicts.map((verdict) => (verdict as { target: string }).target);
}

/** Endpoints, as `ip:port`, of the dnat in a rule. */
export function dnatTargets(json: unknown): string[] {
  return valuesOf(json, 'dnat').flatMap((value) => {
    const { addr, port } = value as { addr: unknown; port?: number };
    if (typeof addr === 'string') return [socketAddress(addr, port)];
    return valuesOf(addr, 'set').flatMap((set) =>
      (set as [unknown, { concat: [string, number] }][]).map(([, to]) =>
        socketAddress(...to.concat),
      ),
    );
  });
}

/** As targets are written; see kernel-table.ts. */
function targetOf(host: string, port: number, protocol: string): string {
  const address = socketAddress(host, port);
  return protocol === 'tcp' ? address : `${address}/${protocol}`;
}

function socketAddress(host: string, port: number | undefined): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** All values of a key, at any depth. */
function valuesOf(json: unknown, key: string): unknown[] {
  if (typeof json !== 'object' || json === null) return [];
  if (Array.isArray(json)) return json.flatMap((item) => valuesOf(item, key));
  return Object.entries(json).flatMap(([name, value]) =>
    name === key ? [value] : valuesOf(value, key),
  );
}
