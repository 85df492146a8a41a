import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { warnOfKey } from '../../topology/explain/explain-keys.ts';
import { UNKNOWN_SERVICE } from '../../topology/policy/policy.ts';
import { explainIn, IN_SHORT } from '../explain/explained-service.ts';
import { type ExplainedView, findView } from '../explain/explained-view.ts';
import { knownServices, type ServiceSummary, shorten } from '../explain/summary.ts';
import { TimeSlice } from '../time-slice.ts';
import type { ServiceRow } from './page-data.ts';

/**
 * The rows of the page as JSON. A refresh explains only the dirty Services again.
 *
 *   the view decides about a Service ──▶ dirty ──refresh()──▶ row, or removed
 *   a policy becomes pending, a warning changes ──▶ dirty
 *   kube-proxy reads another view ──▶ all are dirty
 *
 * Invariant: after a refresh the rows match the view that kube-proxy reads. A Service that was decided after the
 * refresh started is dirty.
 */
export class ServiceTable {
  readonly #proxy: NodeProxy;
  readonly #rows = new Map<string, string>();
  /** Services whose row must be computed again. */
  readonly #dirty = new Set<string>();
  /** Services whose policy waited for node sets at the last refresh. */
  #pending: ReadonlySet<string> = new Set();
  /** Codes of the warnings about each key in use. */
  #keyWarnings: ReadonlyMap<string, string> = new Map();
  /** Services whose row has the warning change-pending. */
  readonly #changePending = new Set<string>();
  /** Whether all Services of the view were marked as dirty since the view is complete. */
  #allMarked = false;
  #viewNumber = 0;
  #view: ExplainedView | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(proxy: NodeProxy) {
    this.#proxy = proxy;
  }

  /** The view that the rows describe. */
  get view(): ExplainedView | undefined {
    return this.#view;
  }

  /** Number of the current view; each new view gets the next number. */
  get viewNumber(): number {
    return this.#viewNumber;
  }

  /** Number of dirty Services. */
  get dirtyCount(): number {
    return this.#dirty.size;
  }

  /** Services that have a row. */
  services(): IterableIterator<string> {
    return this.#rows.keys();
  }

  /** A row as JSON; undefined: the Service does not exist. */
  row(service: string): string | undefined {
    return this.#rows.get(service);
  }

  /** Computes the dirty rows again. Yields the names of updated Services after each time slice. */
  async *refresh(): AsyncGenerator<readonly string[]> {
    this.#selectView();
    this.#markPending();
    const view = this.#view;
    if (view?.source.view.started === false) return;
    if (!this.#allMarked) this.#markAll();
    this.#allMarked = true;
    this.#markWarned();
    const slice = new TimeSlice();
    let explained: string[] = [];
    for (const service of [...this.#dirty]) {
      await this.#explain(service, view, slice);
      // close() or another refresh may have changed the view meanwhile.
      if (this.#view !== view) return;
      explained.push(service);
      if (!slice.isOver) continue;
      yield explained;
      explained = [];
      await slice.yield();
      if (this.#view !== view) return;
    }
    if (explained.length > 0) yield explained;
  }

  close(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#view = undefined;
    this.#rows.clear();
    this.#dirty.clear();
    this.#changePending.clear();
  }

  /** Switches to the view that kube-proxy reads now. */
  #selectView(): void {
    const view = findView(this.#proxy);
    if (view?.projection === this.#view?.projection) return;
    this.#unsubscribe?.();
    this.#view = view;
    this.#viewNumber++;
    this.#unsubscribe = view?.projection.onDecided((service) => this.#dirty.add(service));
    // Before the view is complete, its Services are not known.
    this.#allMarked = false;
  }

  #markAll(): void {
    const known = this.#view === undefined ? [] : knownServices(this.#proxy, this.#view);
    for (const service of [...this.#rows.keys(), ...known]) this.#dirty.add(service);
  }

  /** A policy that becomes pending, or no longer is, changes the row without a decision. */
  #markPending(): void {
    const { pending } = this.#proxy.topology.policies;
    for (const service of pending) if (!this.#pending.has(service)) this.#dirty.add(service);
    for (const service of this.#pending) if (!pending.has(service)) this.#dirty.add(service);
    this.#pending = new Set(pending);
  }

  /**
   * Some warnings change without a decision: they depend on nodes without endpoints, on refusals of the API server, and
   * on pending label changes of this node.
   */
  #markWarned(): void {
    const { topology } = this.#proxy;
    const warnings = new Map<string, string>();
    for (const key of topology.policies.keysInUse()) {
      const serious = warnOfKey(topology, key).filter(({ severity }) => severity === 'warning');
      const codes = serious.map(({ code }) => code).join();
      warnings.set(key, codes);
      if (codes === this.#keyWarnings.get(key)) continue;
      for (const service of topology.policies.usersOf(key)) this.#dirty.add(service);
    }
    this.#keyWarnings = warnings;
    for (const service of this.#changePending) {
      if (topology.waitsFor(service).length === 0) this.#dirty.add(service);
    }
  }

  async #explain(
    service: string,
    view: ExplainedView | undefined,
    slice: TimeSlice,
  ): Promise<void> {
    // First, because a decision during the next await marks the Service as dirty again.
    this.#dirty.delete(service);
    const summary = view === undefined ? undefined : await this.#summaryOf(service, view, slice);
    if (this.#view !== view) return;
    if (summary === undefined) this.#rows.delete(service);
    else this.#rows.set(service, JSON.stringify(compact(summary)));
    if (summary?.warnings.includes('change-pending') === true) this.#changePending.add(service);
    else this.#changePending.delete(service);
  }

  async #summaryOf(
    service: string,
    view: ExplainedView,
    slice: TimeSlice,
  ): Promise<ServiceSummary | undefined> {
    const proxy = this.#proxy;
    const known = proxy.topology.policies.wanted(service) !== UNKNOWN_SERVICE;
    if (!known && view.projection.inspect(service).objects.length === 0) return undefined;
    return shorten(await slice.run(explainIn(proxy, view, service, IN_SHORT)));
  }
}

function compact(summary: ServiceSummary): ServiceRow {
  const { service, outcome, policy, keys, winners, kept, total, since, warnings } = summary;
  const dryRun = summary.dryRun ? 1 : 0;
  const seconds = since === undefined ? 0 : Math.round(Date.parse(since) / 1000);
  const counts = [kept, total] as const;
  const { ready } = summary;
  return [service, outcome, dryRun, policy, keys, winners, ...counts, seconds, warnings, ready];
}
