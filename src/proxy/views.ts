import { WrapperError } from '../errors.ts';
import { ENDPOINT_SLICES, ENDPOINTS, NODES, SERVICES } from '../filter/resource.ts';
import { View } from '../filter/view.ts';
import type { PolicyBook } from '../topology/policy-book.ts';
import type { Codecs } from './answer.ts';
import { OwnNodeFeed } from './own-node-feed.ts';
import type { PolicyEvents } from './policy-events.ts';
import { type Question, questionKey } from './question.ts';
import { ServicesFeed } from './services-feed.ts';
import { openPlain, openViewSource, type SourceContext, type ViewSource } from './view-source.ts';

export interface ViewsOptions extends SourceContext {
  readonly codecs: Codecs;
  readonly book: PolicyBook;
  readonly policyEvents?: Pick<PolicyEvents, 'tell'> | undefined;
  /** More views than this at once are refused. */
  readonly maxViews: number;
  /** A view that nobody asks for is closed after this long, in milliseconds. */
  readonly idleMs: number;
}

/**
 * A view makes room for another question when nobody has used it for this long, in milliseconds: sooner, a client
 * that asks one new question after the other would have each listed and written to disk, as fast as it asks.
 */
const ROOM_MS = 5_000;
/** A view whose question the API server does not take is closed this long after its last user, in milliseconds. */
const REFUSED_IDLE_MS = 1_000;

interface OpenView {
  readonly source: ViewSource;
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
export class Views {
  readonly #options: ViewsOptions;
  readonly #open = new Map<string, OpenView>();
  readonly #ownNode: OwnNodeFeed;
  #hasServices = false;

  constructor(options: ViewsOptions) {
    this.#options = options;
    this.#ownNode = new OwnNodeFeed(options.world, options.logger);
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
    return this.#open.get(questionKey(source.question))?.users ?? 0;
  }

  /**
   * Why the API server does not take the question of a view; undefined also for a view that the world itself
   * needs: that is more than a client's mistake.
   */
  refusalOf({ question, view }: ViewSource): WrapperError | undefined {
    return this.#open.get(questionKey(question))?.pinned ? undefined : view.refusal;
  }

  /** Opens or shares the view of a question. Throws `NotReady` when there are too many in use, or just used. */
  acquire(question: Question): ViewLease {
    const { book, serviceFilter, cloudPassthrough } = this.#options;
    const hides = serviceFilter !== undefined || cloudPassthrough;
    const services = worldServices(question, book.settings.headless, hides);
    if (services !== undefined) this.#openServices(services);
    const entry = this.#open.get(questionKey(question)) ?? this.#openView(question);
    entry.users++;
    clearTimeout(entry.idle);
    return { view: entry.source.view, release: () => this.#release(entry) };
  }

  /** Ends all reflectors and waits for them. */
  async close(): Promise<void> {
    const entries = [...this.#open.values()];
    this.#open.clear();
    for (const { idle } of entries) clearTimeout(idle);
    await Promise.all(entries.map(({ source }) => source.close()));
  }

  #release(entry: OpenView): void {
    entry.users--;
    this.#rest(entry);
  }

  /** Closes a view after a while if nobody uses it. */
  #rest(entry: OpenView): void {
    if (entry.users > 0 || entry.pinned) return;
    if (this.#open.get(questionKey(entry.source.question)) !== entry) return;
    const { idleMs } = this.#options;
    const refused = entry.source.view.refusal !== undefined;
    clearTimeout(entry.idle);
    entry.idleSince = performance.now();
    entry.idle = setTimeout(
      () => this.#close(entry),
      refused ? Math.min(REFUSED_IDLE_MS, idleMs) : idleMs,
    );
  }

  #openView(question: Question): OpenView {
    const { codecs, maxViews } = this.#options;
    if (this.#open.size >= maxViews && !this.#closeIdlest()) {
      throw new WrapperError('NotReady', `${maxViews} different views are open already (maxViews)`);
    }
    const source = openViewSource(this.#options, question, codecs[question.encoding]);
    return this.#add(source, false);
  }

  /** Makes room: the view goes that nobody has used for longest. Returns whether there is one long enough. */
  #closeIdlest(): boolean {
    const idle = [...this.#open.values()].filter(({ users, pinned }) => users === 0 && !pinned);
    const [first] = idle.sort((a, b) => a.idleSince - b.idleSince);
    if (first === undefined || performance.now() - first.idleSince < ROOM_MS) return false;
    this.#close(first);
    return true;
  }

  #close({ source, idle }: OpenView): void {
    clearTimeout(idle);
    this.#open.delete(questionKey(source.question));
    void source.close();
  }

  #add(source: ViewSource, pinned: boolean): OpenView {
    const entry: OpenView = { source, users: 0, idle: undefined, idleSince: 0, pinned };
    this.#open.set(questionKey(source.question), entry);
    // When the question is refused, whoever asked it may have gone already.
    source.view.whenSettled(() => this.#rest(entry));
    return entry;
  }

  #openOwnNode(): void {
    const question: Question = {
      resource: NODES,
      namespace: '',
      labelSelector: '',
      fieldSelector: `metadata.name=${this.#options.world.nodeName}`,
      encoding: 'protobuf',
    };
    const codec = this.#options.codecs.protobuf;
    const view = this.#createView(question);
    const decode = (object: Buffer) => codec.labelled(object);
    this.#add(openPlain(this.#options, question, view, decode, [this.#ownNode]), true);
  }

  /** The first one that asks decides how the world asks for Services, for the life of the process. */
  #openServices(question: Question): void {
    if (this.#hasServices) return;
    this.#hasServices = true;
    const feed = new ServicesFeed(this.#options);
    const codec = this.#options.codecs.protobuf;
    this.#add(openViewSource(this.#options, question, codec, { feed }), true);
    if (!this.#options.cloudPassthrough) return;
    // Which Services are hidden is told by the view of slices that kube-proxy itself asks for.
    const slices = slicesBeside(question);
    this.#add(openViewSource(this.#options, slices, codec, { tellsWithheld: true }), true);
  }

  #createView({ resource, encoding }: Question): View {
    const { codecs, clock, window } = this.#options;
    return new View({ resource, codec: codecs[encoding], clock, window });
  }
}

/**
 * How the world asks for Services: as the kube-proxy that asks for these endpoints does (pkg/proxy/config),
 * so that the two share one watch. Undefined for a question that tells nothing about it and whose answer
 * does not depend on it.
 *
 * @param hides whether some Services are hidden, which depends on what the world knows of them
 */
function worldServices(
  question: Question,
  headless: boolean,
  hides: boolean,
): Question | undefined {
  const { resource, namespace, labelSelector, fieldSelector, encoding } = question;
  const kinds = headless ? [ALL_SERVICES] : [OLDER_SERVICES, OLDEST_SERVICES, SERVICES_WITH_IP];
  if (resource === ENDPOINT_SLICES || resource === ENDPOINTS) {
    return kinds.find((kind) => kind.labelSelector === labelSelector) ?? kinds.at(-1);
  }
  if (resource !== SERVICES) return undefined;
  const same = kinds.find(
    (kind) => kind.labelSelector === labelSelector && kind.fieldSelector === fieldSelector,
  );
  if (same !== undefined && namespace === '' && encoding === 'protobuf') return same;
  return hides ? kinds.at(-1) : undefined;
}

/** How the kube-proxy that asks for Services in this way asks for slices. */
function slicesBeside({ labelSelector }: Question): Question {
  const older = labelSelector === OLDER_SERVICES.labelSelector;
  return {
    resource: ENDPOINT_SLICES,
    namespace: '',
    labelSelector: older ? labelSelector : '!service.kubernetes.io/headless',
    fieldSelector: '',
    encoding: 'protobuf',
  };
}

const ALL_SERVICES: Question = {
  resource: SERVICES,
  namespace: '',
  labelSelector: '!service.kubernetes.io/service-proxy-name',
  fieldSelector: '',
  encoding: 'protobuf',
};
/** From 1.35 on. */
const SERVICES_WITH_IP: Question = { ...ALL_SERVICES, fieldSelector: 'spec.clusterIP!=None' };
/** As in 1.33, with the same labels for slices, which take them over from their Service. */
const OLDER_SERVICES: Question = {
  ...SERVICES_WITH_IP,
  labelSelector: '!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name',
};
/** Before; its slices are asked for by the same labels too. */
const OLDEST_SERVICES: Question = { ...OLDER_SERVICES, fieldSelector: '' };
