import type { Labels, ModelService, ModelSlice } from './expected-view.ts';

/** What a cluster has at a moment, by name or `namespace/name`. */
export interface ClusterState {
  /** Labels of the own node, and of the others. */
  readonly self: Labels;
  readonly nodes: ReadonlyMap<string, Labels>;
  readonly services: ReadonlyMap<string, ModelService>;
  readonly slices: ReadonlyMap<string, ModelSlice>;
  /** Endpoints objects, each as its subsets. */
  readonly endpoints: ReadonlyMap<string, readonly ModelSlice[]>;
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

/** The values of all objects of a collection. */
export class ObjectValues<T> {
  readonly #all = new Map<string, Values<T | undefined>>();

  get names(): readonly string[] {
    return [...this.#all.keys()];
  }

  of(name: string): Values<T | undefined> {
    const values = this.#all.get(name) ?? new Values<T | undefined>(undefined);
    this.#all.set(name, values);
    return values;
  }

  /** Those that there are now. */
  get present(): ReadonlyMap<string, T> {
    return new Map(
      [...this.#all].flatMap(([name, { last }]) =>
        last === undefined ? [] : [[name, last] as const],
      ),
    );
  }

  restore(state: ReadonlyMap<string, T>): void {
    for (const [name, values] of this.#all) values.push(state.get(name));
  }
}

/**
 * The history of a cluster, input by input. A write is in it as soon as it begins, because clients may see it from then
 * on. After the restore of an older copy the older values are in it once more, as the newest ones.
 */
export class Timeline {
  readonly self: Values<Labels>;
  readonly nodes = new Values<ReadonlyMap<string, Labels>>(new Map());
  readonly services = new ObjectValues<ModelService>();
  readonly slices = new ObjectValues<ModelSlice>();
  readonly endpoints = new ObjectValues<readonly ModelSlice[]>();
  /** Of all writes, also after a restore. */
  #version = 0;

  constructor(self: Labels) {
    this.self = new Values(self);
  }

  nextVersion(): number {
    this.#version += 1;
    return this.#version;
  }

  /** Labels of another node; undefined: it does not exist. */
  setNode(name: string, labels: Labels | undefined): void {
    const nodes = new Map(this.nodes.last);
    if (labels === undefined) nodes.delete(name);
    else nodes.set(name, labels);
    this.nodes.push(nodes);
  }

  /** What the cluster has now. */
  get state(): ClusterState {
    return {
      self: this.self.last,
      nodes: this.nodes.last,
      services: this.services.present,
      slices: this.slices.present,
      endpoints: this.endpoints.present,
    };
  }

  /** The cluster has an older state again. */
  restore(state: ClusterState): void {
    this.self.push(state.self);
    this.nodes.push(state.nodes);
    this.services.restore(state.services);
    this.slices.restore(state.slices);
    this.endpoints.restore(state.endpoints);
  }
}
