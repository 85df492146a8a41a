import {
  type NodeContext,
  type TopologyMatch,
  type TopologyMatchSettings,
  topologyMatchOf,
} from './topology-match.ts';

/** Caches what a topology key matches in a node context: it depends on nothing else. */
export class TopologyMatchCache {
  readonly #settings: TopologyMatchSettings;
  readonly #cache = new WeakMap<NodeContext, Map<string, TopologyMatch>>();

  constructor(settings: TopologyMatchSettings) {
    this.#settings = settings;
  }

  of(key: string, context: NodeContext): TopologyMatch {
    let matches = this.#cache.get(context);
    if (matches === undefined) {
      matches = new Map();
      this.#cache.set(context, matches);
    }
    let match = matches.get(key);
    if (match === undefined) {
      match = topologyMatchOf(key, context, this.#settings);
      matches.set(key, match);
    }
    return match;
  }
}
