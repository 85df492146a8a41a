import type { KeyMaskOf, MatchesEndpoint } from '../decide/key-mask.ts';
import { KeyMaskCache } from '../decide/key-mask-cache.ts';
import { ANY_KEY, ZONE_KEY } from '../policy/topology-keys.ts';
import type { NodeSetRegistry } from './node-set-registry.ts';
import type { OwnNodeState } from './own-node-state.ts';
import type { NodeContext, TopologyMatch, TopologyMatchSettings } from './topology-match.ts';
import { TopologyMatchCache } from './topology-match-cache.ts';

/**
 * Which nodes and endpoints a topology key matches: by the node context in force, and by the members of the node
 * sets that are known.
 */
export class KeyMatcher {
  readonly #nodeName: string;
  readonly #ownNode: OwnNodeState;
  readonly #nodeSets: NodeSetRegistry;
  readonly #topologyMatches: TopologyMatchCache;
  readonly #keyMasks = new KeyMaskCache((key, endpoint) => this.matches(key, endpoint));

  constructor(
    nodeName: string,
    settings: TopologyMatchSettings,
    ownNode: OwnNodeState,
    nodeSets: NodeSetRegistry,
  ) {
    this.#nodeName = nodeName;
    this.#ownNode = ownNode;
    this.#nodeSets = nodeSets;
    this.#topologyMatches = new TopologyMatchCache(settings);
  }

  /** What a key matches by the node context in force; undefined while there is none. */
  inForce(key: string): TopologyMatch | undefined {
    const context = this.#ownNode.current;
    return context === undefined ? undefined : this.of(key, context);
  }

  /** What a key matches in a node context. */
  of(key: string, context: NodeContext): TopologyMatch {
    return this.#topologyMatches.of(key, context);
  }

  /** Whether a key matches an endpoint, by the node context in force. */
  readonly matches: MatchesEndpoint = (key, { node, zone }) => {
    if (key === ANY_KEY) return true;
    if (node === '') return false;
    if (key === ZONE_KEY && zone !== '') return this.#ownNode.current?.labels.get(key) === zone;
    const match = this.inForce(key);
    if (match === undefined) return false;
    // Own Node decides, not a node set: two watches may disagree for a moment.
    if (node === this.#nodeName) return match.self;
    if (match.nodes.has(node)) return true;
    return this.#nodeSets.include(match.selectors, node);
  };

  /** The same for a list of keys, cached until {@link invalidate}. */
  keyMaskBy(keys: readonly string[]): KeyMaskOf {
    return this.#keyMasks.by(keys);
  }

  /** The other nodes that are known to match. */
  otherNodes({ selectors, nodes }: TopologyMatch): ReadonlySet<string> {
    const all = new Set(nodes);
    for (const selector of selectors) {
      for (const node of this.#nodeSets.all.get(selector)?.members ?? []) all.add(node);
    }
    all.delete(this.#nodeName);
    return all;
  }

  /** Must be called when the node context in force or the members of a node set changed. */
  invalidate(): void {
    this.#keyMasks.clear();
  }
}
