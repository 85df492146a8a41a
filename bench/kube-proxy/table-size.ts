import { parseNftables } from '../../harness/kernel-tables/parse-nftables.ts';

/** What kube-proxy has put into the kernel. */
export interface TableSize {
  readonly chains: number;
  readonly rules: number;
  /** Of sets and maps, those within rules among them; iptables has none. */
  readonly elements: number;
  /** Services, by their ClusterIP and port, that have endpoints. */
  readonly services: number;
  /** Endpoints of all Services that connections are sent to. */
  readonly endpoints: number;
  /** Size of the dump. */
  readonly bytes: number;
}

/** Counts in the text of `iptables-save`. */
export function sizeOfIptables(saved: string): TableSize {
  const lines = saved.split('\n');
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  return {
    chains: count(/^:/),
    rules: count(/^-A /),
    elements: 0,
    services: count(/^-A KUBE-SERVICES .*cluster IP".* -j KUBE-SVC-/),
    endpoints: count(/ --to-destination /),
    bytes: Buffer.byteLength(saved),
  };
}

/** Counts in the JSON of `nft -j list ruleset`. */
export function sizeOfNftables(ruleset: string): TableSize {
  const { nftables } = JSON.parse(ruleset) as { nftables: readonly SizedEntry[] };
  const rules = nftables.flatMap(({ rule }) => rule ?? []);
  const named = nftables.flatMap(({ map, set }) => (map ?? set)?.elem?.length ?? 0);
  const services = nftables.find(({ map }) => map?.family === 'ip' && map.name === 'service-ips');
  const ipv4 = nftables.filter(({ map, rule }) => (map ?? rule)?.family === 'ip');
  const backends = [...parseNftables(JSON.stringify({ nftables: ipv4 })).values()];
  const endpoints = sum(backends.map(({ length }) => length));
  return {
    chains: nftables.filter(({ chain }) => chain !== undefined).length,
    rules: rules.length,
    // The endpoints of a Service are a map within its rule.
    elements: sum(named) + endpoints,
    services: services?.map?.elem?.length ?? 0,
    endpoints,
    bytes: Buffer.byteLength(ruleset),
  };
}

interface SizedEntry {
  readonly chain?: object;
  readonly set?: { readonly elem?: readonly unknown[] };
  readonly map?: {
    readonly family: string;
    readonly name: string;
    readonly elem?: readonly unknown[];
  };
  readonly rule?: { readonly family: string };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
