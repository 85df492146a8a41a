import type { KernelTable } from './kernel-table.ts';

/** An entry of the list in `nft -j list table`, with the fields that are read. */
interface Entry {
  readonly map?: {
    readonly name: string;
    readonly elem?: readonly (readonly [unknown, unknown])[];
  };
  readonly rule?: { readonly chain: string; readonly expr: readonly unknown[] };
}

/**
 * Parses the JSON of `nft -j list table ip kube-proxy`. The map service-ips names the chain of each Service. The chain
 * has a dnat to a map of endpoints (since 1.35), or jumps to one chain for each endpoint. A Service without endpoints
 * is in the map no-endpoint-services (Kubernetes pkg/proxy/nftables).
 */
export function parseNftables(json: string): KernelTable {
  const { nftables } = JSON.parse(json) as { nftables: readonly Entry[] };
  const rules = new Map<string, unknown[]>();
  const maps = new Map<string, readonly (readonly [unknown, unknown])[]>();
  for (const { map, rule } of nftables) {
    if (map !== undefined) maps.set(map.name, map.elem ?? []);
    if (rule === undefined) continue;
    const expressions = rules.get(rule.chain) ?? [];
    expressions.push(rule.expr);
    rules.set(rule.chain, expressions);
  }
  const table = new Map<string, readonly string[]>();
  for (const [key] of maps.get('no-endpoint-services') ?? []) table.set(targetOf(key), []);
  for (const [key, verdict] of maps.get('service-ips') ?? []) {
    table.set(targetOf(key), backendsOf(rules, verdict));
  }
  return table;
}

/** `{ "concat": ["10.96.0.10", "tcp", 80] }`; without a file /etc/protocols nft writes 6 instead of "tcp". */
function targetOf(key: unknown): string {
  const [concat] = valuesOf(key, 'concat') as [[string, string | number, number | string]?];
  const [address = '', protocol = '', port = ''] = concat ?? [];
  const name = typeof protocol === 'number' ? PROTOCOLS.get(protocol) : protocol.toUpperCase();
  return `${name ?? protocol} ${withPort(address, port)}`;
}

/** Those that a Service can have, by their number (https://www.iana.org/assignments/protocol-numbers). */
const PROTOCOLS: ReadonlyMap<number, string> = new Map([
  [6, 'TCP'],
  [17, 'UDP'],
  [132, 'SCTP'],
]);

function backendsOf(rules: ReadonlyMap<string, unknown[]>, verdict: unknown): string[] {
  const backends = new Set<string>();
  const chains = chainsOf(verdict);
  // Chains that the loop finds are appended, so that it visits them too.
  for (const chain of chains) {
    const expressions = rules.get(chain);
    for (const backend of dnatTargets(expressions)) backends.add(backend);
    for (const next of chainsOf(expressions)) if (!chains.includes(next)) chains.push(next);
  }
  return [...backends].sort();
}

function chainsOf(json: unknown): string[] {
  const verdicts = [...valuesOf(json, 'goto'), ...valuesOf(json, 'jump')];
  return verdicts.map((verdict) => (verdict as { target: string }).target);
}

function dnatTargets(json: unknown): string[] {
  return valuesOf(json, 'dnat').flatMap((value) => {
    const { addr, port } = value as { addr: unknown; port?: number };
    if (typeof addr === 'string') return [withPort(addr, port ?? '')];
    return valuesOf(addr, 'set').flatMap((set) =>
      (set as [unknown, { concat: [string, number] }][]).map(([, to]) => withPort(...to.concat)),
    );
  });
}

function withPort(address: string, port: number | string): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** All values of a key, at any depth. */
function valuesOf(json: unknown, key: string): unknown[] {
  if (typeof json !== 'object' || json === null) return [];
  if (Array.isArray(json)) return json.flatMap((item) => valuesOf(item, key));
  return Object.entries(json).flatMap(([name, value]) =>
    name === key ? [value] : valuesOf(value, key),
  );
}
