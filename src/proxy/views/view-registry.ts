import type { WrapperError } from '../../errors.ts';
import type { Change } from '../../filter/codec/change.ts';
import type { Codecs, ServiceFacts } from '../../filter/codec/codec.ts';
import { View } from '../../filter/view/view.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import {
  CURRENT_SLICES,
  isForEndpoints,
  kubeProxyQueryTest,
  ownNodeQuery,
  servicesBeside,
  slicesBeside,
} from '../api/kube-proxy-queries.ts';
import { type Query, queryKey, queryPath } from '../api/query.ts';
import { OwnNodeHandler } from '../cluster/own-node-handler.ts';
import type { PolicyEvents } from '../cluster/policy-events.ts';
import { ServicesHandler } from '../cluster/services-handler.ts';
import { type OpenView, refusedSource } from './open-view.ts';
import { type BudgetLimits, RETRY_AFTER_SECONDS, ViewBudget } from './view-budget.ts';
import { ANYONE, type Holder, type ViewCharge } from './view-charge.ts';
import { openPlain, openViewSource, type SourceContext, type ViewSource } from './view-source.ts';

export interface ViewRegistryOptions extends SourceContext, BudgetLimits {
  readonly codecs: Codecs;
  readonly policyResolver: PolicyResolver;
  readonly policyEvents?: Pick<PolicyEvents, 'record'> | undefined;
  /** Whether https callers share the budget with the clients of plain http. */
  readonly hasCallers: boolean;
  /** A view without users is closed after this long, in milliseconds. */
  readonly idleMs: number;
}

/**
 * A view makes room for another query when it had no users for this long, in milliseconds. Without this time a client
 * with ever new queries would cause a list and a snapshot for each of them, as fast as it sends them.
 */
const ROOM_MS = 5_000;
/** Shares of the budget: one https caller, and all clients of plain http together if https is served too. */
const CALLER_SHARE = 1 / 4;
const ANYONE_SHARE = 1 / 2;
/**
 * A view without room is not tried again for this long, in milliseconds, because it has cost the API server a list.
 * Until then it keeps its place among maxViews, so that other queries are not tried without a pause either.
 */
const NO_ROOM_MS = RETRY_AFTER_SECONDS * 1_000;
/** A view whose query the API server rejects is closed this long after its last user, in milliseconds. */
const REFUSED_IDLE_MS = 1_000;

/** The Services that the topology reads. */
interface TopologyServices {
  readonly query: Query;
  readonly entry: OpenView;
  readonly handler: ServicesHandler;
  /** No client has requested it: the next kube-proxy may need another query. */
  isGuess: boolean;
  /** Those in use until this query has its first list. */
  replaces: TopologyServices | undefined;
}

interface KeptView {
  readonly entry: OpenView;
  /** As above. */
  readonly isGuess: boolean;
}

/** A view in use; release it exactly once. */
export interface ViewLease {
  readonly view: View;
  release(): void;
}

/**
 * The open views, one per query, opened with the first request. The topology needs some of them itself: the own Node,
 * and Services as soon as endpoints are requested. kube-proxy requests the same ones, so that they cost one watch.
 *
 *     opened ──▶ in use ── last user leaves ──▶ idle ── idleMs, or another view needs the room ──▶ closed
 *                 │  ▲                           │                                                 ▲
 *                 │  └──────── new user ─────────┘                                                 │
 *                 └── no room ──▶ refused (only query and error remain) ── 30 s later ─────────────┘
 *
 * A pinned view, which the topology needs, is never idle. The kept view is never idle either: the last view of endpoints
 * that a kube-proxy has read or, until one comes, that of the newest kube-proxy. So explain, the page and check work
 * before kube-proxy is pointed at the wrapper. There is at most one kept view. It is opened with the first request for an
 * explanation, and some time after the start: a kube-proxy that runs already comes earlier, and may be an older one.
 *
 * The room: ViewRegistry opens, shares and closes views; `openViewSource` connects reflector, projection and view;
 * ViewBudget limits number and memory.
 */
export class ViewRegistry {
  readonly #options: ViewRegistryOptions;
  readonly #open = new Map<string, OpenView>();
  readonly #ownNode: OwnNodeHandler;
  /** Whether kube-proxy makes this query. */
  readonly isKubeProxys: (query: Query) => boolean;
  /** Counts all views except kube-proxy's own. */
  readonly budget: ViewBudget;
  /** The Services that the topology reads; undefined: none yet. */
  #services: TopologyServices | undefined;
  /** The view of endpoints that remains open without a client. */
  #kept: KeptView | undefined;
  #usualTimer: NodeJS.Timeout | undefined;

  constructor(options: ViewRegistryOptions) {
    this.#options = options;
    this.isKubeProxys = kubeProxyQueryTest(options.topology.nodeName);
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

  /** UID of the own Node; undefined: it has not been read. */
  get ownNodeUid(): string | undefined {
    return this.#ownNode.uid;
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
   * Why a view is not served: the API server rejects its query, or there is no room for it. Undefined also for a view
   * that the topology needs, because its failure is more than a client's error.
   */
  refusalOf({ query, view }: ViewSource): WrapperError | undefined {
    return this.#open.get(queryKey(query))?.pinned ? undefined : view.refusal;
  }

  /**
   * Opens or shares the view of a query for a caller. Throws `LimitExceeded` when there is no room for another view.
   * Kube-proxy's own queries always have room.
   */
  acquire(query: Query, caller: Holder = ANYONE): ViewLease {
    const services = this.#servicesBeside(query);
    if (services !== undefined) this.#needServices(services);
    const entry = this.#open.get(queryKey(query)) ?? this.#openView(query, caller);
    this.#keepIfKubeProxys(query, entry);
    entry.charge?.use(caller);
    entry.users++;
    if (entry.source.view.closed === undefined) clearTimeout(entry.idleTimer);
    return { view: entry.source.view, release: () => this.#release(entry, caller) };
  }

  /**
   * Opens the views of the newest kube-proxy, unless a view of endpoints is kept already. A kube-proxy that comes later
   * shares them, or gets its own if it is older.
   */
  openUsual(): void {
    if (this.#kept !== undefined) return;
    const query =
      this.#services === undefined ? CURRENT_SLICES : slicesBeside(this.#services.query);
    const services = this.#servicesBeside(query);
    const isGuess = this.#services === undefined;
    if (services !== undefined && isGuess) this.#services = this.#openServices(services, true);
    const entry = this.#open.get(queryKey(query)) ?? this.#openView(query, ANYONE);
    // It may be idle.
    if (entry.source.view.refusal === undefined) clearTimeout(entry.idleTimer);
    this.#kept = { entry, isGuess };
  }

  /** The same, after `ms` milliseconds. */
  openUsualLater(ms: number): void {
    this.#usualTimer = setTimeout(() => this.openUsual(), ms).unref();
  }

  /** Decides the policies of all Services again, after the settings of the policies have changed. */
  refreshPolicies(): void {
    // Those that replace them apply the settings to their first list.
    const services = this.#services?.replaces ?? this.#services;
    if (services === undefined) return;
    const { source } = services.entry;
    const changes: Change<ServiceFacts>[] = [];
    for (const key of this.#options.topology.policies.services()) {
      const object = source.find(key);
      if (object === undefined) continue;
      const facts = source.view.codec.service(object);
      changes.push({ type: 'MODIFIED', key, facts, object });
    }
    services.handler.onChanges(changes);
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    clearTimeout(this.#usualTimer);
    const entries = [...this.#open.values()];
    this.#open.clear();
    for (const { idleTimer, charge } of entries) {
      clearTimeout(idleTimer);
      charge?.close();
    }
    await Promise.all(entries.map(({ source }) => source.close()));
  }

  #release(entry: OpenView, caller: Holder): void {
    entry.users--;
    const orphaned = entry.charge?.leave(caller) === false;
    if (entry.charge !== undefined && orphaned && entry.source.view.closed === undefined) {
      // Its remaining readers have no room for it. They may open it again if they can.
      const error = this.budget.refuse(entry.charge);
      this.#refuse(entry, error);
    }
    this.#closeLaterIfIdle(entry);
  }

  /** Closes a view after a while if it has no users. */
  #closeLaterIfIdle(entry: OpenView): void {
    if (entry.users > 0 || entry.pinned || entry.source.view.closed !== undefined) return;
    if (entry === this.#kept?.entry && entry.source.view.refusal === undefined) return;
    if (this.#open.get(queryKey(entry.source.query)) !== entry) return;
    const { idleMs } = this.#options;
    const refused = entry.source.view.refusal !== undefined;
    clearTimeout(entry.idleTimer);
    entry.idleSince = performance.now();
    entry.idleTimer = setTimeout(
      () => this.#close(entry),
      refused ? Math.min(REFUSED_IDLE_MS, idleMs) : idleMs,
    );
  }

  #openView(query: Query, caller: Holder): OpenView {
    const codec = this.#options.codecs[query.encoding];
    if (this.isKubeProxys(query)) {
      return this.#add(openViewSource(this.#options, query, codec), false);
    }
    const charge = this.budget.open(caller);
    const pay = (bytes: number): void => {
      // A closed view costs nothing, also while its list still ends.
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

  /** Closes the view that has been idle for longest. Returns whether one was idle for long enough. */
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

  #close(entry: OpenView): void {
    const { source, idleTimer, charge } = entry;
    if (entry === this.#kept?.entry) this.#kept = undefined;
    clearTimeout(idleTimer);
    this.#open.delete(queryKey(source.query));
    charge?.close();
    void source.close();
  }

  /** Ends a view without room. Requests for it are answered with the error until it is closed. */
  #refuse(entry: OpenView, error: WrapperError): void {
    const { source, charge } = entry;
    if (source.view.closed !== undefined) return;
    clearTimeout(entry.idleTimer);
    const path = queryPath(source.query);
    this.#options.logger.warn({ view: path, err: error.message }, 'a view is closed');
    const closing = source.close();
    source.view.close(error);
    charge?.resize(0);
    entry.source = refusedSource(source, () => closing);
    entry.idleTimer = setTimeout(() => this.#close(entry), NO_ROOM_MS);
  }

  #add(source: ViewSource, pinned: boolean, charge?: ViewCharge): OpenView {
    const idleSince = performance.now();
    const entry: OpenView = { source, charge, users: 0, idleTimer: undefined, idleSince, pinned };
    this.#open.set(queryKey(source.query), entry);
    // When the query is rejected, its clients may have left already.
    source.view.whenSettled(() => this.#closeLaterIfIdle(entry));
    return entry;
  }

  #openOwnNode(): void {
    const query = ownNodeQuery(this.#options.topology.nodeName);
    const codec = this.#options.codecs.protobuf;
    const view = this.#createView(query);
    const decode = (object: Buffer) => codec.partialMetadata(object);
    this.#add(openPlain(this.#options, query, view, decode, [this.#ownNode]), true);
  }

  #servicesBeside(query: Query): Query | undefined {
    const { headless } = this.#options.policyResolver.settings;
    return servicesBeside(query, headless, this.#hidesServices);
  }

  get #hidesServices(): boolean {
    const { serviceFilter, cloudPassthrough } = this.#options;
    return serviceFilter !== undefined || cloudPassthrough;
  }

  /** Keeps the view that a kube-proxy reads instead of the last one. In JSON it is charged, and not kept. */
  #keepIfKubeProxys(query: Query, entry: OpenView): void {
    if (!isForEndpoints(query) || !this.isKubeProxys({ ...query, encoding: 'protobuf' })) return;
    const before = this.#kept;
    this.#kept = query.encoding === 'protobuf' ? { entry, isGuess: false } : undefined;
    if (before === undefined || before.entry === entry) return;
    // A wrong guess is closed once. After that, clients could cause a list with each request.
    const isUnused = before.entry.users === 0 && !before.entry.pinned;
    if (before.isGuess && isUnused) this.#close(before.entry);
    else this.#closeLaterIfIdle(before.entry);
  }

  /**
   * The first request decides on the query for the topology's Services, for the life of the process. A guess that was
   * wrong is replaced, unless Services can be hidden: then a second watch is simpler than to hand over what is hidden.
   */
  #needServices(query: Query): void {
    const current = this.#services;
    if (current === undefined) {
      this.#services = this.#openServices(query, false);
    } else if (current.isGuess) {
      const isRight = queryKey(current.query) === queryKey(query) || this.#hidesServices;
      if (isRight) current.isGuess = false;
      else this.#services = this.#openServices(query, false, current);
    }
  }

  #openServices(query: Query, isGuess: boolean, replaces?: TopologyServices): TopologyServices {
    const onReplaced = (): void => {
      services.replaces = undefined;
      this.#unpin(replaces?.entry);
    };
    const replaced = replaces && { handler: replaces.handler, onReplaced };
    const handler = new ServicesHandler(this.#options, replaced);
    const codec = this.#options.codecs.protobuf;
    const entry = this.#add(openViewSource(this.#options, query, codec, { handler }), true);
    if (this.#options.cloudPassthrough) {
      // Hidden Services follow from the view of slices that kube-proxy itself requests.
      const slices = slicesBeside(query);
      this.#add(openViewSource(this.#options, slices, codec, { reportsCloudOnly: true }), true);
    }
    const services: TopologyServices = { query, entry, handler, isGuess, replaces };
    return services;
  }

  /** Closes a view that the topology does not need any more, unless a client reads it. */
  #unpin(entry: OpenView | undefined): void {
    if (entry === undefined) return;
    entry.pinned = false;
    if (entry.users === 0) this.#close(entry);
  }

  #createView({ resource, encoding }: Query): View {
    const { codecs, versions, window } = this.#options;
    return new View({ resource, codec: codecs[encoding], versions, window });
  }
}
