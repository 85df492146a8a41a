import type { ModelLabels, ModelObject, ModelService } from '../../support/model.ts';

/** An EndpointSlice of the history. */
export interface TimelineSlice {
  /** Number of the write, in an annotation, so that a client's object shows from which write it comes. */
  readonly seq: number;
  readonly object: ModelObject;
}

/** All that a decision depends on. Absent: the object does not exist. */
export interface ClusterState {
  readonly self: ModelLabels;
  /** Labels of the other nodes. */
  readonly nodes: ReadonlyMap<string, ModelLabels>;
  readonly services: ReadonlyMap<string, ModelService & { readonly seq: number }>;
  readonly slices: ReadonlyMap<string, TimelineSlice>;
}

/** The values that one input has had, oldest first; undefined: it did not exist. */
export class Values<T> {
  #values: T[];

  constructor(first: T) {
    this.#values = [first];
  }

  get all(): readonly T[] {
    return this.#values;
  }

  get last(): T {
    return this.#values.at(-1) as T;
  }

  push(value: T): void {
    if (value !== this.last) this.#values.push(value);
  }

  /** Forgets all but the newest ones. */
  keep(count: number): void {
    this.#values = this.#values.slice(-count);
  }
}

/**
 * The history of a cluster, input by input. A write is in it as soon as it begins, because clients may see it from then
 * on. After the restore of an older copy the older values are in it once more, as the newest ones.
 */
export class Timeline {
  readonly self: Values<ModelLabels>;
  readonly nodes: Values<ReadonlyMap<string, ModelLabels>>;
  readonly #services = new Map<string, Values<(ModelService & { seq: number }) | undefined>>();
  readonly #slices = new Map<string, Values<TimelineSlice | undefined>>();
  /** Of all writes, also after a restore. */
  #seq = 0;

  constructor(self: ModelLabels) {
    this.self = new Values(self);
    this.nodes = new Values<ReadonlyMap<string, ModelLabels>>(new Map());
  }

  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  get serviceNames(): readonly string[] {
    return [...this.#services.keys()];
  }

  get sliceNames(): readonly string[] {
    return [...this.#slices.keys()];
  }

  service(name: string): Values<(ModelService & { readonly seq: number }) | undefined> {
    return getOrCreate(this.#services, name);
  }

  slice(name: string): Values<TimelineSlice | undefined> {
    return getOrCreate(this.#slices, name);
  }

  /** Labels of another node; null removes the node. */
  setNode(name: string, labels: ModelLabels | null): void {
    const nodes = new Map(this.nodes.last);
    if (labels === null) nodes.delete(name);
    else nodes.set(name, labels);
    this.nodes.push(nodes);
  }

  /** What the cluster has now. */
  get state(): ClusterState {
    const present = <T>(all: ReadonlyMap<string, Values<T | undefined>>): Map<string, T> =>
      new Map(
        [...all].flatMap(([name, { last }]) => (last === undefined ? [] : [[name, last] as const])),
      );
    return {
      self: this.self.last,
      nodes: this.nodes.last,
      services: present(this.#services),
      slices: present(this.#slices),
    };
  }

  /** The cluster has an older state again. */
  restore(state: ClusterState): void {
    this.self.push(state.self);
    this.nodes.push(state.nodes);
    for (const name of this.serviceNames) this.service(name).push(state.services.get(name));
    for (const name of this.sliceNames) this.slice(name).push(state.slices.get(name));
  }

  /** All clients are right: forgets what they can no longer show, except the newest `count` values. */
  forget(count: number): void {
    this.self.keep(count);
    this.nodes.keep(count);
    for (const values of this.#services.values()) values.keep(count);
    for (const values of this.#slices.values()) values.keep(count);
  }
}

function getOrCreate<T>(
  map: Map<string, Values<T | undefined>>,
  name: string,
): Values<T | undefined> {
  const values = map.get(name) ?? new Values<T | undefined>(undefined);
  map.set(name, values);
  return values;
}
