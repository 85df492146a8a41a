import {
  type NodeContext,
  type TopologyMatch,
  type TopologyMatchSettings,
  topologyMatchOf,
} from './topology-match.ts';

/** Relations by standpoint and topology key, as far as they were asked for: they depend on nothing else. */
export class TopologyMatchCache {
  readonly #settings: TopologyMatchSettings;
  readonly #known = new WeakMap<NodeContext, Map<string, TopologyMatch>>();

  constructor(settings: TopologyMatchSettings) {
    this.#settings = settings;
  }

  of(from: NodeContext, key: string): TopologyMatch {
    let relations = this.#known.get(from);
    if (relations === undefined) {
      relations = new Map();
      this.#known.set(from, relations);
    }
    let relation = relations.get(key);
    if (relation === undefined) {
      relation = topologyMatchOf(key, from, this.#settings);
      relations.set(key, relation);
    }
    return relation;
  }
}
