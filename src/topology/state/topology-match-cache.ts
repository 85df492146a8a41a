import {
  type Relation,
  type RelationSettings,
  relationOf,
  type Standpoint,
} from './topology-match.ts';

/** Relations by standpoint and topology key, as far as they were asked for: they depend on nothing else. */
export class RelationCache {
  readonly #settings: RelationSettings;
  readonly #known = new WeakMap<Standpoint, Map<string, Relation>>();

  constructor(settings: RelationSettings) {
    this.#settings = settings;
  }

  of(from: Standpoint, key: string): Relation {
    let relations = this.#known.get(from);
    if (relations === undefined) {
      relations = new Map();
      this.#known.set(from, relations);
    }
    let relation = relations.get(key);
    if (relation === undefined) {
      relation = relationOf(key, from, this.#settings);
      relations.set(key, relation);
    }
    return relation;
  }
}
