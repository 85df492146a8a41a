/** The Services that need each node set, by its selector. */
export type NodeSetUsers = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The node sets in the order in which they get room. Each Namespace ranks the sets that its Services need, and takes
 * its turn: the first ones of all Namespaces come before the second ones. So whatever one Namespace needs, the others
 * lose no set as long as they need few: with room for 64, a quarter each and three quarters together.
 *
 * Sets with more Services come first, then by name. Numbers of Services are compared in powers of two, so that the
 * order rarely changes with a single Service. It depends on nothing but its input, so it is the same after a restart.
 */
export function inOrderOfShares(users: NodeSetUsers): string[] {
  const numbers = new Map<string, Map<string, number>>();
  for (const [selector, services] of users) {
    for (const service of services) {
      const namespace = service.slice(0, service.indexOf('/'));
      const ofNamespace = numbers.get(namespace) ?? new Map<string, number>();
      numbers.set(namespace, ofNamespace);
      ofNamespace.set(selector, (ofNamespace.get(selector) ?? 0) + 1);
    }
  }
  const ranks = new Map<string, number>();
  for (const counts of numbers.values()) {
    const own = [...counts.keys()].sort(byNumber((selector) => counts.get(selector)));
    own.forEach((selector, rank) => {
      ranks.set(selector, Math.min(rank, ranks.get(selector) ?? rank));
    });
  }
  const rankOf = (selector: string): number => ranks.get(selector) ?? ranks.size;
  const among = byNumber((selector) => users.get(selector)?.size);
  return [...users.keys()].sort((a, b) => rankOf(a) - rankOf(b) || among(a, b));
}

/** Compares selectors by numbers of Services, the greatest first, then by name. */
function byNumber(numberOf: (selector: string) => number | undefined) {
  const size = (selector: string): number => Math.floor(Math.log2(numberOf(selector) ?? 0));
  return (a: string, b: string): number => size(b) - size(a) || (a < b ? -1 : 1);
}
