import type {
  DecisionsEvent,
  NodeState,
  PageEvents,
  RowsEvent,
} from '../src/admin/page/page-data.ts';
import { type Service, serviceOf } from './service.ts';

export type Decision = DecisionsEvent['decisions'][number];

/** Decisions that the page remembers: as many as a view does. */
const MAX_DECISIONS = 1_000;

/** What the page knows. A new object after each change, so that a glance tells whether a part is another. */
export interface Known {
  readonly live: boolean;
  /** Why it is not; undefined: nobody answers. */
  readonly problem: string | undefined;
  readonly node: NodeState | undefined;
  /** In the order of their names. */
  readonly services: readonly Service[];
  readonly byName: ReadonlyMap<string, Service>;
  /** Services that are still to come. */
  readonly left: number;
  /** The latest first. */
  readonly decisions: readonly Decision[];
}

/** Takes in the events and tells its listener, once for all that arrives in one frame. */
export class Store {
  known: Known = {
    live: false,
    problem: undefined,
    node: undefined,
    services: [],
    byName: new Map(),
    left: 1,
    decisions: [],
  };
  #byName = new Map<string, Service>();
  /** The rows of a stream that has just begun, until they are complete; the old ones are shown meanwhile. */
  #fresh: Map<string, Service> | undefined;
  #view: number | undefined;
  #frame = 0;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** A stream begins: it will tell everything. */
  begin(): void {
    this.#fresh = this.#byName.size === 0 ? undefined : new Map();
    this.#view = undefined;
    this.#set({ live: true, problem: undefined });
  }

  /** @param problem what the wrapper said, if it did */
  lost(problem?: string): void {
    this.#set({ live: false, problem });
  }

  take<Name extends keyof PageEvents>(name: Name, event: PageEvents[Name]): void {
    if (name === 'state') this.#set({ node: event as NodeState });
    else if (name === 'rows') this.#takeRows(event as RowsEvent);
    else if (name === 'decisions') this.#takeDecisions(event as DecisionsEvent);
  }

  #takeRows({ rows, gone, left }: RowsEvent): void {
    const into = this.#fresh ?? this.#byName;
    let other = gone.length > 0;
    for (const name of gone) into.delete(name);
    for (const row of rows) {
      other ||= !into.has(row[0]);
      into.set(row[0], serviceOf(row));
    }
    if (this.#fresh !== undefined) {
      if (left > 0) return;
      this.#byName = this.#fresh;
      this.#fresh = undefined;
      other = true;
    }
    const names = other
      ? [...this.#byName.keys()].sort()
      : this.known.services.map(({ name }) => name);
    const services = names.map((name) => this.#byName.get(name) as Service);
    this.#set({ services, byName: this.#byName, left });
  }

  #takeDecisions({ view, decisions }: DecisionsEvent): void {
    const before = view === this.#view ? this.known.decisions : [];
    this.#view = view;
    this.#set({ decisions: [...decisions.toReversed(), ...before].slice(0, MAX_DECISIONS) });
  }

  #set(part: Partial<Known>): void {
    this.known = { ...this.known, ...part };
    // A hidden page has no frames; nor has it a stream.
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#changed();
    });
  }
}
