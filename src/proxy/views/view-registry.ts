import type { WrapperError } from '../../errors.ts';
import type { Codecs } from '../../filter/codec/codec.ts';
import { View } from '../../filter/view/view.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import {
  kubeProxyQueryTest,
  ownNodeQuery,
  servicesBeside,
  slicesBeside,
} from '../api/kube-proxy-queries.ts';
import { type Query, queryKey, queryPath } from '../api/query.ts';
import { OwnNodeHandler } from '../cluster/own-node-handler.ts';
import type { PolicyEvents } from '../cluster/policy-events.ts';
import { ServicesHandler } from '../cluster/services-handler.ts';
import {
  ANYONE,
  type BudgetLimits,
  type Holder,
  RETRY_AFTER_SECONDS,
  ViewBudget,
  type ViewCharge,
} from './view-budget.ts';
import { openPlain, openViewSource, type SourceContext, type ViewSource } from './view-source.ts';

export interface ViewRegistryOptions extends SourceContext, BudgetLimits {
  readonly codecs: Codecs;
  readonly book: PolicyResolver;
  readonly policyEvents?: Pick<PolicyEvents, 'tell'> | undefined;
  /** Whether callers of https share the budget with those of plain http. */
  readonly hasCallers: boolean;
  /** A view that nobody asks for is closed after this long, in milliseconds. */
  readonly idleMs: number;
}

/**
 * A view makes room for another question when nobody has used it for this long, in milliseconds: sooner, a client
 * that asks one new question after the other would have each listed and written to disk, as fast as it asks.
 */
const ROOM_MS = 5_000;
/** What one caller of https, and all of plain http together where there is https, may have of the budget. */
const CALLER_SHARE = 1 / 4;
const ANYONE_SHARE = 1 / 2;
/**
 * A view that there was no room for is not tried again for this long, in milliseconds: it has cost the API server a
 * list. Until then it keeps its place among maxViews, so that other questions are not tried without a pause either.
 */
const NO_ROOM_MS = RETRY_AFTER_SECONDS * 1_000;
/** A view whose question the API server does not take is closed this long after its last user, in milliseconds. */
const REFUSED_IDLE_MS = 1_000;

interface OpenView {
  /** Of a view that there was no room for only what is asked is left. */
  source: ViewSource;
  /** What it takes of the budget; undefined for kube-proxy's own queries and what the world needs. */
  readonly charge: ViewCharge | undefined;
  users: number;
  /** Runs while nobody uses the view; undefined for one that the world itself needs. */
  idle: NodeJS.Timeout | undefined;
  /** Since when nobody uses it; monotonic, in milliseconds. */
  idleSince: number;
  readonly pinned: boolean;
}

/** A view in use; release it exactly once. */
export interface ViewLease {
  readonly view: View;
  release(): void;
}

/**
 * The views that are open, one for each question, opened when it is first asked. Those that the world
 * learns from (own Node; Services, as soon as endpoints are asked for) are the ones kube-proxy asks for
 * too, so that they cost one watch.
 */
export class ViewRegistry {
  readonly #options: ViewRegistryOptions;
  readonly #open = new Map<string, OpenView>();
  readonly #ownNode: OwnNodeHandler;
  readonly #isKubeProxys: (query: Query) => boolean;
  /** What all views but kube-proxy's own take. */
  readonly budget: ViewBudget;
  #hasServices = false;

  constructor(options: ViewRegistryOptions) {
    this.#options = options;
    this.#isKubeProxys = kubeProxyQueryTest(options.topology.nodeName);
    const { maxViews, maxViewBytes, hasCallers } = options;
    this.budget = new ViewBudget({
      ...{ maxViews, maxViewBytes },
      shareOf: (holder) => (holder !== ANYONE ? CALLER_SHARE : hasCallers ? ANYONE_SHARE : 1),
      makeRoom: (holder, except) => this.#closeIdlest(holder, except),
    });
    this.#ownNode = new OwnNodeHandler(options.topology, options.logger);
    this.#openOwnNode();
  }

  /** Whether the own Node exists at the API server. */
  get ownNodeExists(): boolean {
    return this.#ownNode.exists;
  }

  /** The open views. */
  get sources(): readonly ViewSource[] {
    return [...this.#open.values()].map(({ source }) => source);
  }

  /** Number of requests, watches included, that read a view now. */
  users(source: ViewSource): number {
    return this.#open.get(queryKey(source.query))?.users ?? 0;
  }

  /**
   * Why a view is not served: the API server does not take its question, or there is no room for it. Undefined also for
   * a view that the world itself needs: that is more than a client's mistake.
   */
  refusalOf({ query, view }: ViewSource): WrapperError | undefined {
    return this.#open.get(queryKey(query))?.pinned ? undefined : view.refusal;
  }

  /**
   * Opens or shares the view of a question for a caller. Throws `LimitExceeded` when there is no room for another view.
   * Kube-proxy's own queries always have room.
   */
  acquire(query: Query, caller: Holder = ANYONE): ViewLease {
    const { book, serviceFilter, cloudPassthrough } = this.#options;
    const hides = serviceFilter !== undefined || cloudPassthrough;
    const services = servicesBeside(query, book.settings.headless, hides);
    if (services !== undefined) this.#openServices(services);
    const entry = this.#open.get(queryKey(query)) ?? this.#openView(query, caller);
    entry.charge?.use(caller);
    entry.users++;
    if (entry.source.view.closed === undefined) clearTimeout(entry.idle);
    return { view: entry.source.view, release: () => this.#release(entry, caller) };
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    const entries = [...this.#open.values()];
    this.#open.clear();
    for (const { idle, charge } of entries) {
      clearTimeout(idle);
      charge?.close();
    }
    await Promise.all(entries.map(({ source }) => source.close()));
  }

  #release(entry: OpenView, caller: Holder): void {
    entry.users--;
    const orphaned = entry.charge?.leave(caller) === false;
    if (entry.charge !== undefined && orphaned && entry.source.view.closed === undefined) {
      // Those who still read it have no room for it: let them open it again, if they can.
      const error = this.budget.refuse(entry.charge);
      this.#refuse(entry, error);
    }
    this.#rest(entry);
  }

  /** Closes a view after a while if nobody uses it. */
  #rest(entry: OpenView): void {
    if (entry.users > 0 || entry.pinned || entry.source.view.closed !== undefined) return;
    if (this.#open.get(queryKey(entry.source.query)) !== entry) return;
    const { idleMs } = this.#options;
    const refused = entry.source.view.refusal !== undefined;
    clearTimeout(entry.idle);
    entry.idleSince = performance.now();
    entry.idle = setTimeout(
      () => this.#close(entry),
      refused ? Math.min(REFUSED_IDLE_MS, idleMs) : idleMs,
    );
  }

  #openView(query: Query, caller: Holder): OpenView {
    const codec = this.#options.codecs[query.encoding];
    if (this.#isKubeProxys(query)) {
      return this.#add(openViewSource(this.#options, query, codec), false);
    }
    const charge = this.budget.open(caller);
    const pay = (bytes: number): void => {
      // What ends the list of a view that was closed costs nothing any more.
      if (entry.source.view.closed !== undefined) return;
      try {
        charge.resize(bytes);
      } catch (error) {
        this.#refuse(entry, error as WrapperError);
        throw error;
      }
    };
    const source = openViewSource(this.#options, query, codec, { payer: { pay } });
    const entry = this.#add(source, false, charge);
    return entry;
  }

  /** Makes room: the view goes that nobody has used for longest. Returns whether there is one long enough. */
  #closeIdlest(holder: Holder | undefined, except: ViewCharge | undefined): boolean {
    let idlest: OpenView | undefined;
    for (const entry of this.#open.values()) {
      const { users, charge, source, idleSince } = entry;
      if (charge === undefined || charge === except || users > 0) continue;
      if (source.view.closed !== undefined) continue;
      if (holder !== undefined && charge.holder !== holder) continue;
      if (idlest === undefined || idleSince < idlest.idleSince) idlest = entry;
    }
    if (idlest === undefined || performance.now() - idlest.idleSince < ROOM_MS) return false;
    this.#close(idlest);
    return true;
  }

  #close({ source, idle, charge }: OpenView): void {
    clearTimeout(idle);
    this.#open.delete(queryKey(source.query));
    charge?.close();
    void source.close();
  }

  /** Ends a view that there is no room for. Who asks for it meanwhile is told why, at no further cost. */
  #refuse(entry: OpenView, error: WrapperError): void {
    const { source, charge } = entry;
    if (source.view.closed !== undefined) return;
    clearTimeout(entry.idle);
    const path = queryPath(source.query);
    this.#options.logger.warn({ view: path, err: error.message }, 'a view is closed');
    const closing = source.close();
    source.view.close(error);
    charge?.resize(0);
    entry.source = huskOf(source, () => closing);
    entry.idle = setTimeout(() => this.#close(entry), NO_ROOM_MS);
  }

  #add(source: ViewSource, pinned: boolean, charge?: ViewCharge): OpenView {
    const idleSince = performance.now();
    const entry: OpenView = { source, charge, users: 0, idle: undefined, idleSince, pinned };
    this.#open.set(queryKey(source.query), entry);
    // When the question is refused, whoever asked it may have gone already.
    source.view.whenSettled(() => this.#rest(entry));
    return entry;
  }

  #openOwnNode(): void {
    const query = ownNodeQuery(this.#options.topology.nodeName);
    const codec = this.#options.codecs.protobuf;
    const view = this.#createView(query);
    const decode = (object: Buffer) => codec.partialMetadata(object);
    this.#add(openPlain(this.#options, query, view, decode, [this.#ownNode]), true);
  }

  /** The first one that asks decides how the world asks for Services, for the life of the process. */
  #openServices(query: Query): void {
    if (this.#hasServices) return;
    this.#hasServices = true;
    const feed = new ServicesHandler(this.#options);
    const codec = this.#options.codecs.protobuf;
    this.#add(openViewSource(this.#options, query, codec, { feed }), true);
    if (!this.#options.cloudPassthrough) return;
    // Which Services are hidden is told by the view of slices that kube-proxy itself asks for.
    const slices = slicesBeside(query);
    this.#add(openViewSource(this.#options, slices, codec, { tellsCloudOnly: true }), true);
  }

  #createView({ resource, encoding }: Query): View {
    const { codecs, clock, window } = this.#options;
    return new View({ resource, codec: codecs[encoding], clock, window });
  }
}

/** What is left of the source of a view that was closed: nothing that takes memory. */
function huskOf({ query, view, status }: ViewSource, close: () => Promise<void>): ViewSource {
  return { query, view, projection: undefined, status, find: () => undefined, close };
}
