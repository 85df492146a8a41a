import type { ModelLabels, ModelObject, ModelService } from '../../../../harness/history/model.ts';

/** An EndpointSlice of the history. */
export interface TimelineSlice {
  /** Number of the write, in an annotation, so that a client's object shows from which write it comes. */
  readonly seq: number;
  readonly object: ModelObject;
}

/** A Service of the history. */
export interface TimelineService extends ModelService {
  readonly seq: number;
}

/** All that a decision depends on. Absent: the object does not exist. */
export interface ClusterState {
  readonly self: ModelLabels;
  /** Labels of the other nodes. */
  readonly nodes: ReadonlyMap<string, ModelLabels>;
  readonly services: ReadonlyMap<string, TimelineService>;
  readonly slices: ReadonlyMap<string, TimelineSlice>;
}

/** The values that one input has had, oldest first; undefined: it did not exist. */
export class Values<T> {
  readonly all: T[];

  constructor(first: T) {
    this.all = [first];
  }

  get last(): T {
    return this.all.at(-1) as T;
  }

  push(value: T): void {
    if (value !== this.last) this.all.push(value);
  }
}

/**
 * The history of a cluster, input by input. A write is in it as soon as it begins, because clients may see it from then
 * on. After the restore of an older copy the older values are in it once more, as the newest ones.
 */
export class Timeline {
  readonly self: Values<ModelLabels>;
  readonly nodes = new Values<ReadonlyMap<string, ModelLabels>>(new Map());
  readonly #services = new Map<string, Values<TimelineService | undefined>>();
  readonly #slices = new Map<string, Values<TimelineSlice | undefined>>();
  /** Of all writes, also after a restore. */
  #seq = 0;

  constructor(self: ModelLabels) {
    this.self = new Values(self);
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

  service(name: string): Values<TimelineService | undefined> {
    return getOrCreate(this.#services, name);
  }

  slice(name: string): Values<TimelineSlice | undefined> {
    return getOrCreate(this.#slices, name);
  }

  /** Labels of another node. */
  setNode(name: string, labels: ModelLabels): void {
    this.nodes.push(new Map(this.nodes.last).set(name, labels));
  }

  /** What the cluster has now. */
  get state(): ClusterState {
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
    for (const [name, values] of this.#services) values.push(state.services.get(name));
    for (const [name, values] of this.#slices) values.push(state.slices.get(name));
  }
}

function present<T>(all: ReadonlyMap<string, Values<T | undefined>>): Map<string, T> {
  return new Map(
    [...all].flatMap(([name, { last }]) => (last === undefined ? [] : [[name, last] as const])),
  );
}

function getOrCreate<T>(
  map: Map<string, Values<T | undefined>>,
  name: string,
): Values<T | undefined> {
  const values = map.get(name) ?? new Values<T | undefined>(undefined);
  map.set(name, values);
  return values;
}
