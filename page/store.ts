import type {
  DecisionsEvent,
  NodeState,
  PageEvents,
  RowsEvent,
} from '../src/admin/page/page-data.ts';
import { type Service, serviceOf } from './service.ts';

export type Decision = DecisionsEvent['decisions'][number];

/** Number of decisions that the page keeps: as many as a view. */
const MAX_DECISIONS = 1_000;

/** The data of the page. Each change creates a new object, so that a part that did not change is identical. */
export interface PageState {
  readonly connection: 'opening' | 'live' | 'lost';
  /** Why the connection is lost, as the wrapper reports it. */
  readonly problem: string | undefined;
  /** Time of the last event, in milliseconds since the epoch; undefined: there was none. */
  readonly updatedAt: number | undefined;
  readonly node: NodeState | undefined;
  /** Sorted by name. */
  readonly services: readonly Service[];
  readonly byName: ReadonlyMap<string, Service>;
  /** Number of Services that have not arrived yet. */
  readonly left: number;
  /** Newest first. */
  readonly decisions: readonly Decision[];
}

/** Applies events, and notifies its listener at most once per animation frame. */
export class Store {
  page: PageState = {
    connection: 'opening',
    problem: undefined,
    updatedAt: undefined,
    node: undefined,
    services: [],
    byName: new Map(),
    left: 1,
    decisions: [],
  };
  #byName = new Map<string, Service>();
  /** Rows of a new stream until they are complete. Until then the page shows the old rows. */
  #fresh: Map<string, Service> | undefined;
  #view: number | undefined;
  #frame = 0;
  #updatedAt: number | undefined;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** A new stream starts. It sends the complete state. */
  begin(): void {
    this.#fresh = this.#byName.size === 0 ? undefined : new Map();
    this.#view = undefined;
    this.#set({ connection: 'live', problem: undefined });
  }

  /** @param problem the error of the wrapper, if there is one */
  lost(problem?: string): void {
    this.#set({ connection: 'lost', problem, updatedAt: this.#updatedAt });
  }

  take<Name extends keyof PageEvents>(name: Name, event: PageEvents[Name]): void {
    this.#updatedAt = Date.now();
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
      : this.page.services.map(({ name }) => name);
    const services = names.map((name) => this.#byName.get(name) as Service);
    this.#set({ services, byName: this.#byName, left });
  }

  #takeDecisions({ view, decisions }: DecisionsEvent): void {
    const before = view === this.#view ? this.page.decisions : [];
    this.#view = view;
    this.#set({ decisions: [...decisions.toReversed(), ...before].slice(0, MAX_DECISIONS) });
  }

  #set(part: Partial<PageState>): void {
    this.page = { ...this.page, ...part };
    // A hidden page has no animation frames, but no stream either.
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#changed();
    });
  }
}
