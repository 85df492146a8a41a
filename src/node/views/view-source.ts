import { CODECS } from '../../client/api/codecs.ts';
import { anyKubeProxyQueryTest, isForEndpoints } from '../../client/api/kube-proxy-queries.ts';
import { type Query, queryKey } from '../../client/api/query.ts';
import { sliceSelectionOf } from '../../client/api/slice-selection.ts';
import { Reflector, type ReflectorStatus } from '../../client/reflector/reflector.ts';
import type { ReflectorContext } from '../../client/reflector/reflector-options.ts';
import { WriteAhead } from '../../client/snapshot/write-ahead.ts';
import type { WrapperError } from '../../errors.ts';
import type {
  EndpointsFacts,
  ObjectBytes,
  ObjectMeta,
  OwnNodeFacts,
  PartialObjectMetadata,
  ServiceFacts,
} from '../../filter/codec/codec.ts';
import type { ChangeHandler } from '../../filter/objects/change.ts';
import { NODES, SERVICE_CIDRS, SERVICES } from '../../filter/objects/resource.ts';
import type { Batches } from '../../filter/projection/batch.ts';
import { EndpointsProjection } from '../../filter/projection/endpoints-projection.ts';
import { feedFirst } from '../../filter/projection/feed-first.ts';
import { ObjectsProjection, type Visibility } from '../../filter/projection/objects-projection.ts';
import { ServiceVisibility } from '../../filter/projection/service-visibility.ts';
import type { LogBounds } from '../../filter/view/event-log.ts';
import { View } from '../../filter/view/view.ts';
import { isOfOtherProxy, type ServiceFilter } from '../../topology/policy/service-policy.ts';
import { HEADLESS_LABEL, PROXY_NAME_LABEL } from '../../topology/policy/service-reader.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Clock } from '../../util/clock.ts';
import type { Corrector } from '../local-runtime/corrector.ts';
import type { LocalRuntime } from '../local-runtime/local-runtime.ts';
import type { DecisionLog } from './decision-log.ts';
import { createViewMemory, type ReserveBytes } from './view-memory.ts';

/** What every source of a view needs. */
export interface SourceContext extends ReflectorContext {
  readonly topology: Topology;
  readonly batches: Batches;
  /** The minimum that an event log keeps. */
  readonly window: LogBounds;
  readonly clock: Clock;
  readonly serviceFilter: ServiceFilter | undefined;
  /** Whether Services whose traffic all goes to the cloud are hidden. */
  readonly withholdsServices: boolean;
  /** Corrects endpoints of this node while the API server is unreachable; default: nothing does. */
  readonly localRuntime?: LocalRuntime;
  /** Logs changed decisions of kube-proxy's views; default: nothing does. */
  readonly decisionLog?: DecisionLog;
  /** See Reflector. */
  readonly onHandled?: (seconds: number) => void;
}

/** A view and what fills it: one reflector and one projection. */
export interface ViewSource {
  readonly query: Query;
  readonly view: View;
  /** Undefined for collections that are shown unchanged, and for a part of the slices of a Service. */
  readonly projection: EndpointsProjection | undefined;
  /** Undefined if nothing corrects its endpoints. */
  readonly corrector?: Corrector;
  readonly status: ReflectorStatus;
  /** The object of this key as the API server has it, except for the version. Also finds hidden objects. */
  find(key: string): ObjectBytes | undefined;
  /** Ends the reflector and waits for it. The view remains readable and unchanged. */
  close(): Promise<void>;
}

/** The source of a view of endpoints that are decided here. */
export interface EndpointsSource extends ViewSource {
  readonly projection: EndpointsProjection;
}

/**
 * Whether a source is of endpoints that are decided here. False for a view of some slices of a Service, and for a
 * refused view.
 */
export function isEndpointsSource(source: ViewSource): source is EndpointsSource {
  return source.projection !== undefined;
}

/** The source of a refused view, without anything that takes memory. */
export function refusedSource(
  { query, view, status }: ViewSource,
  close: () => Promise<void>,
): ViewSource {
  return { query, view, projection: undefined, status, find: () => undefined, close };
}

/** What a source needs besides its query. */
export interface SourceRole {
  /** Notified of each change of a Service before the view: its effect on the topology must be active first. */
  readonly services?: ChangeHandler<ServiceFacts>;
  /** Notified of each change of the own Node before the view. */
  readonly ownNode?: ChangeHandler<PartialObjectMetadata>;
  /** Whether this view of slices reports to the topology which Services are withheld. */
  readonly reportsWithheld?: boolean;
  /** Called each time the API server rejects the query, until the view has started. */
  readonly onRejected?: (error: WrapperError) => void;
  /** Reserves the memory; absent for the views of kube-proxy and of the topology. */
  readonly reserve?: ReserveBytes;
}

/** Limit of the event log of a view that needs a reservation. A client that falls behind lists again. */
const RESERVED_WINDOW: LogBounds = { entries: 1_000, bytes: 4 * 1024 * 1024 };

/** Opens a source: filtered for endpoints, with some objects hidden or unchanged for any other collection. */
export function openViewSource(
  context: SourceContext,
  query: Query,
  role: SourceRole = {},
): ViewSource {
  const { resource } = query;
  const codec = CODECS[query.encoding];
  const { versions, window, topology, withholdsServices } = context;
  const { reserve, services, ownNode, onRejected } = role;
  const most = reserve && RESERVED_WINDOW;
  const view = new View({ resource, codec, versions, window, most });
  const isKubeProxys = anyKubeProxyQueryTest(topology.nodeName)(query);
  const forOthers = reserve !== undefined && !isKubeProxys;
  const source = { query, view, reserve, forOthers, onRejected };
  if (isForEndpoints(query)) return openEndpoints(context, source, role.reportsWithheld);
  if (resource === SERVICES) {
    // Beside any other query the topology may read no Services, for which the view would wait for ever.
    const mayWait = isKubeProxys || services !== undefined;
    return openObjects(context, {
      ...source,
      decode: (object) => codec.service(object),
      visibility: serviceVisibility(context, mayWait),
      feed: services,
    });
  }
  if (resource === NODES && query.fieldSelector === `metadata.name=${topology.nodeName}`) {
    return openObjects(context, {
      ...source,
      decode: (object) => codec.ownNode(object),
      diskFirst: writeAhead(context, query),
      feed: ownNode,
    });
  }
  const isHideable = resource === SERVICE_CIDRS && withholdsServices;
  return openObjects(context, {
    ...source,
    decode: (object) => codec.meta(object),
    visibility: isHideable ? cidrVisibility(topology) : undefined,
  });
}

/** @param mayWait whether Services can wait for the topology to read them; else only a setting hides any */
function serviceVisibility(
  { topology, serviceFilter, withholdsServices: followsWithheld }: SourceContext,
  mayWait: boolean,
): ServiceVisibility | undefined {
  const hides = serviceFilter !== undefined || followsWithheld || mayWait;
  return hides ? new ServiceVisibility({ topology, serviceFilter, followsWithheld }) : undefined;
}

/**
 * In nftables mode, kube-proxy drops packets to an address of a ServiceCIDR if no Service that it knows has this
 * address (chain cluster-ips-check, pkg/proxy/nftables). That would drop what must be routed to the cloud.
 */
function cidrVisibility(topology: Topology): Visibility<ObjectMeta> {
  return {
    isKnown: () => topology.nodeContext !== undefined,
    isHidden: () => topology.withholdsServices,
  };
}

/** What passes the own Node on when it is on disk. */
function writeAhead({ snapshots, logger }: SourceContext, query: Query) {
  if (snapshots === undefined) return undefined;
  const write = async () => await snapshots.writer.writeAhead(queryKey(query));
  return (handler: ChangeHandler<OwnNodeFacts>) => new WriteAhead({ write, handler, logger });
}

function openObjects<Facts extends ObjectMeta>(
  context: SourceContext,
  source: OpenedView & {
    readonly decode: (object: ObjectBytes) => Facts;
    readonly visibility?: Visibility<Facts>;
    readonly feed?: ChangeHandler<Facts>;
    readonly diskFirst?: ((handler: ChangeHandler<Facts>) => ChangeHandler<Facts>) | undefined;
  },
): ViewSource {
  const { view, visibility, feed, diskFirst } = source;
  const objects = new ObjectsProjection(view, visibility);
  const shown = context.batches.addObjects(objects);
  const fed = feed === undefined ? shown : feedFirst(feed, objects, shown);
  const handler = reencoding(view, fed);
  return runSource(context, {
    ...source,
    projection: undefined,
    handler: diskFirst?.(handler) ?? handler,
    find: (key) => objects.find(key),
    close: () => fed.close(),
  });
}

function openEndpoints(
  context: SourceContext,
  opened: OpenedView,
  reportsWithheld = false,
): ViewSource {
  const { query, view, reserve } = opened;
  const { topology, serviceFilter, clock } = context;
  const { codec, resource } = view;
  const decisionLog = reserve === undefined ? context.decisionLog : undefined;
  const selection = sliceSelectionOf(query);
  const projection = new EndpointsProjection({
    view,
    topology,
    clock,
    reportsWithheld,
    selects: selection && ((slice) => selection.selects(codec.partialMetadata(slice))),
    onDecisionChanged: (change) => decisionLog?.add(view, change),
    ofOtherProxy:
      serviceFilter && ((object) => isHiddenUnread(codec.partialMetadata(object), serviceFilter)),
  });
  const decode = (object: ObjectBytes): EndpointsFacts => codec.endpoints(resource, object);
  const { localRuntime } = context;
  const next = context.batches.addEndpoints(projection);
  const corrector = localRuntime?.add({
    next,
    codec,
    resource,
    isCurrent: () => source.status.connected,
  });
  const close = (): void => {
    if (corrector !== undefined) localRuntime?.remove(corrector);
    decisionLog?.release(view);
    next.close();
  };
  const source: ViewSource = runSource(context, {
    ...opened,
    whole: selection?.whole,
    projection,
    corrector,
    decode,
    handler: reencoding(view, corrector ?? next),
    find: (key) => view.get(key),
    close,
  });
  return source;
}

/**
 * Whether an object belongs to a Service that the topology does not read and that the settings hide. Slices and
 * Endpoints inherit the labels of their Service, as kube-proxy assumes too.
 */
function isHiddenUnread(object: PartialObjectMetadata, filter: ServiceFilter): boolean {
  const isUnread = object.labels.has(HEADLESS_LABEL) || object.labels.has(PROXY_NAME_LABEL);
  return isUnread && isOfOtherProxy(object, filter);
}

/** Lets a view follow the encoding of what its handler is passed. */
export function reencoding<Facts extends ObjectMeta>(
  view: View,
  handler: ChangeHandler<Facts>,
): ChangeHandler<Facts> {
  return {
    onVersion: (resourceVersion, isList) => handler.onVersion?.(resourceVersion, isList),
    onChanges: (changes) => handler.onChanges(changes),
    onSynced: () => handler.onSynced(),
    onReencoded: (encoding, changes) =>
      view.reencode(CODECS[encoding], () => {
        handler.onChanges(changes);
        handler.onSynced();
      }),
  };
}

/** What all sources have, before they differ by collection. */
interface OpenedView {
  readonly query: Query;
  readonly view: View;
  readonly reserve: ReserveBytes | undefined;
  /** See ReflectorOptions. */
  readonly forOthers: boolean;
  /** See SourceRole. */
  readonly onRejected: SourceRole['onRejected'];
}

/** What a reflector and its handler need, and what they fill. */
interface Running<Facts extends ObjectMeta> extends OpenedView {
  /** What is read, if the view is a part of it. The view then has no projection of its own. */
  readonly whole?: Query | undefined;
  readonly projection: EndpointsProjection | undefined;
  readonly corrector?: Corrector;
  readonly decode: (object: ObjectBytes) => Facts;
  readonly handler: ChangeHandler<Facts>;
  readonly find: ViewSource['find'];
  /** Closes what the handler has opened. */
  readonly close: () => void;
}

function runSource<Facts extends ObjectMeta>(
  context: SourceContext,
  parts: Running<Facts>,
): ViewSource {
  const { query, whole, view, projection, corrector, reserve } = parts;
  // Several views may be parts of the same whole, and a file has one owner. These views, which are never kube-proxy's,
  // have no snapshot.
  const snapshots = whole === undefined ? context.snapshots : undefined;
  const hasSnapshots = snapshots !== undefined;
  const memory =
    reserve === undefined
      ? context.ownMemory?.account()
      : createViewMemory({ view, projection, hasSnapshots, reserve });
  const reflector = new Reflector({
    ...context,
    ...parts,
    snapshots,
    query: whole ?? query,
    memory,
    onUnanswerable: (error) => {
      view.refuse(error);
      if (error !== undefined) parts.onRejected?.(error);
    },
  });
  return {
    query,
    view,
    projection: whole === undefined ? projection : undefined,
    corrector: whole === undefined ? corrector : undefined,
    find: parts.find,
    get status() {
      return reflector.status;
    },
    close() {
      parts.close();
      return reflector.close();
    },
  };
}
