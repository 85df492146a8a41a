/** A rule of `iptables-save`: its words behind `-A <chain>`. */
interface Rule {
  readonly chain: string;
  readonly words: readonly string[];
}

/**
 * Finds the endpoints of a `clusterIP:port`, or `clusterIP:port/udp`, in the text of `iptables-save`; see kernel-table.ts.
 * kube-proxy jumps from KUBE-SERVICES over a chain for the Service to one chain for each
 * endpoint, which ends in a DNAT; a Service without endpoints has a REJECT instead.
 */
export function backendsInIptables(saved: string, target: string): string[] | undefined {
  const rules = parseRules(saved);
  const entries = rules.filter(
    (rule) => rule.chain === 'KUBE-SERVICES' && matchesTarget(rule.words, target),
  );
  if (entries.length === 0) return undefined;
  const backends = new Set<string>();
  const seen = new Set<string>();
  const follow = (rule: Rule) => {
    const backend = wordAfter(rule.words, '--to-destination');
    if (backend !== undefined) backends.add(backend);
    const next = wordAfter(rule.words, '-j');
    if (next === undefined || seen.has(next)) return;
    seen.add(next);
    for (const follower of rules) if (follower.chain === next) follow(follower);
  };
  for (const entry of entries) follow(entry);
  return [...backends].sort();
}

function parseRules(saved: string): Rule[] {
  const rules: Rule[] = [];
  for (const line of saved.split('\n')) {
    // Comments are quoted; nothing that we look for is.
    const words = line.replace(/"[^"]*"/g, '""').split(' ');
    if (words[0] === '-A' && words[1] !== undefined) {
      rules.push({ chain: words[1], words: words.slice(2) });
    }
  }
  return rules;
}

function matchesTarget(words: readonly string[], target: string): boolean {
  const protocol = wordAfter(words, '-p');
  const suffix = protocol === 'tcp' ? '' : `/${protocol}`;
  const address = wordAfter(words, '-d')?.replace(/\/(32|128)$/, '') ?? '';
  const host = address.includes(':') ? `[${address}]` : address;
  return `${host}:${wordAfter(words, '--dport')}${suffix}` === target;
}

function wordAfter(words: readonly string[], word: string): string | undefined {
  const index = words.indexOf(word);
  return index < 0 ? undefined : words[index + 1];
}
