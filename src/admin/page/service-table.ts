import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { warnOfKey } from '../../topology/explain/explain-keys.ts';
import { UNKNOWN_SERVICE } from '../../topology/policy/policy.ts';
import { explainIn, IN_SHORT } from '../explain/explained-service.ts';
import { type ExplainedView, findView } from '../explain/explained-view.ts';
import { knownServices, type ServiceSummary, shorten } from '../explain/summary.ts';
import { TimeSlice } from '../time-slice.ts';
import type { ServiceRow } from './page-data.ts';

/**
 * The rows of the page, as JSON, kept up to date by explaining again only those Services that the view has
 * decided again.
 *
 * Invariant: after a refresh the rows are those of the view that kube-proxy reads, but for what was decided
 * since the refresh began; that is noted for the next one.
 */
export class ServiceTable {
  readonly #proxy: NodeProxy;
  readonly #rows = new Map<string, string>();
  /** At most one entry for each Service. */
  readonly #touched = new Set<string>();
  #pending: ReadonlySet<string> = new Set();
  /** What each key in use is warned about. */
  #keyWarnings: ReadonlyMap<string, string> = new Map();
  /** Services whose row says that a change is pending. */
  readonly #waiting = new Set<string>();
  /** Whether all Services were looked at since the view is complete. */
  #complete = false;
  #viewNumber = 0;
  #view: ExplainedView | undefined;
  #unfollow: (() => void) | undefined;

  constructor(proxy: NodeProxy) {
    this.#proxy = proxy;
  }

  /** The view that the rows are of. */
  get view(): ExplainedView | undefined {
    return this.#view;
  }

  /** Counts the views that the rows were of. */
  get viewNumber(): number {
    return this.#viewNumber;
  }

  /** Services that are still to be explained. */
  get waiting(): number {
    return this.#touched.size;
  }

  /** Services that have a row. */
  services(): IterableIterator<string> {
    return this.#rows.keys();
  }

  /** A row as JSON; undefined: there is no such Service. */
  row(service: string): string | undefined {
    return this.#rows.get(service);
  }

  /** Brings the rows up to date; calls back, from time to time, with the Services looked at. */
  async refresh(changed: (services: readonly string[]) => void): Promise<void> {
    this.#follow();
    this.#touchPending();
    const view = this.#view;
    if (view?.source.view.started === false) return;
    if (!this.#complete) this.#touchAll();
    this.#complete = true;
    this.#touchWarned();
    const turn = new TimeSlice();
    let explained: string[] = [];
    for (const service of [...this.#touched]) {
      await this.#explain(service, view, turn);
      // Closed, or turned to another view, while other work had its turn.
      if (this.#view !== view) return;
      explained.push(service);
      if (!turn.isOver) continue;
      changed(explained);
      explained = [];
      await turn.pass();
      if (this.#view !== view) return;
    }
    if (explained.length > 0) changed(explained);
  }

  close(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#view = undefined;
    this.#rows.clear();
    this.#touched.clear();
    this.#waiting.clear();
  }

  /** Turns to the view that kube-proxy reads now. */
  #follow(): void {
    const view = findView(this.#proxy);
    if (view?.projection === this.#view?.projection) return;
    this.#unfollow?.();
    this.#view = view;
    this.#viewNumber++;
    this.#unfollow = view?.projection.onDecided((service) => this.#touched.add(service));
    // At the start the Services are not known yet, so that all are touched when the view is complete.
    this.#complete = false;
  }

  #touchAll(): void {
    const known = this.#view === undefined ? [] : knownServices(this.#proxy, this.#view);
    for (const service of [...this.#rows.keys(), ...known]) this.#touched.add(service);
  }

  /** That a policy begins to wait is no decision, but it is told. */
  #touchPending(): void {
    const { pending } = this.#proxy.topology.policies;
    for (const service of pending) if (!this.#pending.has(service)) this.#touched.add(service);
    for (const service of this.#pending) if (!pending.has(service)) this.#touched.add(service);
    this.#pending = new Set(pending);
  }

  /**
   * Some reasons for a warning come and go without a decision: which nodes there are beside those of the
   * endpoints, what the API server refuses, and labels of this node that wait.
   */
  #touchWarned(): void {
    const { topology } = this.#proxy;
    const warnings = new Map<string, string>();
    for (const key of topology.policies.keysInUse()) {
      const serious = warnOfKey(topology, key).filter(({ severity }) => severity === 'warning');
      const codes = serious.map(({ code }) => code).join();
      warnings.set(key, codes);
      if (codes === this.#keyWarnings.get(key)) continue;
      for (const service of topology.policies.usersOf(key)) this.#touched.add(service);
    }
    this.#keyWarnings = warnings;
    for (const service of this.#waiting) {
      if (topology.waitsFor(service).length === 0) this.#touched.add(service);
    }
  }

  async #explain(service: string, view: ExplainedView | undefined, turn: TimeSlice): Promise<void> {
    // First: what is decided while other work has its turn is noted again.
    this.#touched.delete(service);
    const summary = view === undefined ? undefined : await this.#summaryOf(service, view, turn);
    if (this.#view !== view) return;
    if (summary === undefined) this.#rows.delete(service);
    else this.#rows.set(service, JSON.stringify(compact(summary)));
    if (summary?.warnings.includes('change-pending') === true) this.#waiting.add(service);
    else this.#waiting.delete(service);
  }

  async #summaryOf(
    service: string,
    view: ExplainedView,
    turn: TimeSlice,
  ): Promise<ServiceSummary | undefined> {
    const proxy = this.#proxy;
    const known = proxy.topology.policies.wanted(service) !== UNKNOWN_SERVICE;
    if (!known && view.projection.inspect(service).objects.length === 0) return undefined;
    return shorten(await turn.take(explainIn(proxy, view, service, IN_SHORT)));
  }
}

function compact(summary: ServiceSummary): ServiceRow {
  const { service, outcome, dryRun, policy, keys, winners, kept, total, since, warnings } = summary;
  const seconds = since === undefined ? 0 : Math.round(Date.parse(since) / 1000);
  return [service, outcome, dryRun ? 1 : 0, policy, keys, winners, kept, total, seconds, warnings];
}
