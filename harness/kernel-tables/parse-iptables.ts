import type { KernelTable } from './kernel-table.ts';

interface Rule {
  readonly chain: string;
  readonly words: readonly string[];
}

/**
 * Parses the output of `iptables-save` or `ip6tables-save`. KUBE-SERVICES jumps to a chain for the Service, which jumps
 * to one chain for each endpoint. That chain ends in a DNAT. A Service without endpoints has a REJECT instead
 * (Kubernetes pkg/proxy/iptables).
 */
export function parseIptables(saved: string): KernelTable {
  const rules = Map.groupBy(parseRules(saved), ({ chain }) => chain);
  const table = new Map<string, readonly string[]>();
  for (const rule of rules.get('KUBE-SERVICES') ?? []) {
    const target = targetOf(rule);
    if (target === undefined) continue;
    const backends = new Set(table.get(target));
    for (const backend of backendsOf(rules, rule)) backends.add(backend);
    table.set(target, [...backends].sort());
  }
  return table;
}

function* parseRules(saved: string): Generator<Rule> {
  for (const line of saved.split('\n')) {
    if (!line.startsWith('-A KUBE-')) continue;
    // Only comments are quoted.
    const [, chain = '', ...words] = line.replace(/"[^"]*"/g, '""').split(' ');
    yield { chain, words };
  }
}

function targetOf({ words }: Rule): string | undefined {
  const address = after(words, '-d')?.replace(/\/(32|128)$/, '');
  const port = after(words, '--dport');
  const protocol = after(words, '-p')?.toUpperCase();
  if (address === undefined || port === undefined || protocol === undefined) return undefined;
  return `${protocol} ${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function backendsOf(rules: ReadonlyMap<string, readonly Rule[]>, entry: Rule): Set<string> {
  const backends = new Set<string>();
  const seen = new Set<string>();
  const open = [entry];
  // Rules that the loop finds are appended, so that it visits them too.
  for (const { words } of open) {
    const backend = after(words, '--to-destination');
    if (backend !== undefined) backends.add(backend);
    const next = after(words, '-j') ?? '';
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(rules.get(next) ?? []));
  }
  return backends;
}

function after(words: readonly string[], word: string): string | undefined {
  const index = words.indexOf(word);
  return index < 0 ? undefined : words[index + 1];
}
