import type { Endpoint, EndpointGroup } from '../decide/endpoint.ts';
import type { KeyMaskOf } from '../decide/endpoint-classes.ts';
import { ANY_KEY, CLOUD_KEY, COMMUNITY_KEY, ZONE_KEY } from '../policy/topology-keys.ts';
import type { NodeLookups } from './node-lookups.ts';
import type { NodeSetRegistry } from './node-set-registry.ts';
import type { OwnNodeState } from './own-node-state.ts';
import {
  type NodeContext,
  ownValue,
  type TopologyMatch,
  type TopologyMatchSettings,
  topologyMatchOf,
} from './topology-match.ts';

/** The cache of key masks is emptied when all of them take more bytes. */
const MAX_MASK_BYTES = 8 * 1024 * 1024;
/** The mask of an endpoint without the texts of the endpoint, which may be gone. */
const MASK_BYTES = 100;

/**
 * Which nodes and endpoints a topology key matches: by the active node context, and by the members of the node sets
 * that are known.
 */
export class KeyMatcher {
  readonly ownNode: OwnNodeState;
  readonly nodeSets: NodeSetRegistry;
  readonly #lookups: NodeLookups;
  readonly #nodeName: string;
  readonly #settings: TopologyMatchSettings;
  /** What the keys of {@link keysOfOtherNodes} match depends on nothing but the node context. */
  readonly #matches = new WeakMap<NodeContext, Map<string, TopologyMatch>>();
  /** Services share a few lists of keys, so that these are compared by identity. Lists of no policy disappear. */
  #keyMasks = new WeakMap<readonly string[], KeyMaskOf>();
  #maskBytes = 0;

  constructor(
    nodeName: string,
    settings: TopologyMatchSettings,
    ownNode: OwnNodeState,
    nodeSets: NodeSetRegistry,
    lookups: NodeLookups,
  ) {
    this.#nodeName = nodeName;
    this.#settings = settings;
    this.ownNode = ownNode;
    this.nodeSets = nodeSets;
    this.#lookups = lookups;
  }

  /** What a key matches by the active node context; undefined while there is none. */
  active(key: string): TopologyMatch | undefined {
    const context = this.ownNode.active;
    return context === undefined ? undefined : this.matchIn(key, context);
  }

  /**
   * The keys that can match other nodes in a context; no node set is opened for any other key. Work that visits these
   * does not grow with the keys that policies use: any owner of a Service can use 16 more.
   */
  *keysOfOtherNodes(context: NodeContext | undefined): Generator<string> {
    if (context === undefined) return;
    yield COMMUNITY_KEY;
    yield CLOUD_KEY;
    yield* context.labels.keys();
  }

  /** What a key matches in a node context. */
  matchIn(key: string, context: NodeContext): TopologyMatch {
    let matches = this.#matches.get(context);
    if (matches === undefined) {
      matches = new Map();
      this.#matches.set(context, matches);
    }
    let match = matches.get(key);
    if (match === undefined) {
      match = topologyMatchOf(key, context, this.#settings);
      if (isOfOtherNodes(key, context)) matches.set(key, match);
    }
    return match;
  }

  /** Whether a key matches an endpoint, by the active node context. */
  matches(key: string, endpoint: Endpoint): boolean {
    if (key === ANY_KEY) return true;
    const { node } = endpoint;
    const match = this.active(key);
    if (match === undefined) return false;
    // Own Node decides, not a node set: two watches may disagree for a moment.
    if (node === this.#nodeName) return match.self;
    if (match.nodes.has(node) || this.nodeSets.include(match.selectors, node)) return true;
    return key === ZONE_KEY && this.isInZoneByField(endpoint) && !this.#lookups.isElsewhere(node);
  }

  /** Whether an endpoint is in this node's zone by its own field, which applies if its Node is not known. */
  isInZoneByField({ zone }: Endpoint): boolean {
    const { active } = this.ownNode;
    return active !== undefined && zone !== '' && ownValue(ZONE_KEY, active) === zone;
  }

  /** The nodes of endpoints that only their field puts into this node's zone, though its node set is known. */
  *namedByField(groups: readonly EndpointGroup[]): Generator<string> {
    const { selectors = [] } = this.active(ZONE_KEY) ?? {};
    const isSynced = selectors.every(
      (selector) => this.nodeSets.all.get(selector)?.state === 'synced',
    );
    if (!isSynced) return;
    for (const { endpoints } of groups) {
      for (const endpoint of endpoints) {
        const { node } = endpoint;
        if (node === '' || node === this.#nodeName || !this.isInZoneByField(endpoint)) continue;
        if (!this.nodeSets.include(selectors, node)) yield node;
      }
    }
  }

  /** The same for a list of keys, cached until {@link invalidate}. Equal endpoints are one object. */
  keyMaskBy(keys: readonly string[]): KeyMaskOf {
    const cached = this.#keyMasks.get(keys);
    if (cached !== undefined) return cached;
    const masks = new Map<Endpoint, number>();
    const keyMaskOf = (endpoint: Endpoint): number => {
      const known = masks.get(endpoint);
      if (known !== undefined) return known;
      const mask = this.#newMask(keys, endpoint);
      masks.set(endpoint, mask);
      return mask;
    };
    this.#keyMasks.set(keys, keyMaskOf);
    return keyMaskOf;
  }

  #newMask(keys: readonly string[], endpoint: Endpoint): number {
    let mask = 0;
    keys.forEach((key, index) => {
      if (this.matches(key, endpoint)) mask |= 1 << index;
    });
    this.#maskBytes += MASK_BYTES + endpoint.node.length + endpoint.zone.length;
    if (this.#maskBytes > MAX_MASK_BYTES) this.invalidate();
    return mask;
  }

  /** The other nodes that are known to match. */
  otherNodes({ selectors, nodes }: TopologyMatch): ReadonlySet<string> {
    const all = new Set(nodes);
    for (const selector of selectors) {
      for (const node of this.nodeSets.all.get(selector)?.members ?? []) all.add(node);
    }
    all.delete(this.#nodeName);
    return all;
  }

  /** Must be called when the active node context or the members of a node set changed. */
  invalidate(): void {
    this.#keyMasks = new WeakMap();
    this.#maskBytes = 0;
  }
}

/** Whether a key is one of {@link KeyMatcher.keysOfOtherNodes}. */
function isOfOtherNodes(key: string, { labels }: NodeContext): boolean {
  return key === COMMUNITY_KEY || key === CLOUD_KEY || labels.has(key);
}
