import type { Logger } from 'pino';
import type { ChangeHandler } from '../../filter/codec/change.ts';
import type {
  Codec,
  EndpointsFacts,
  ObjectBytes,
  ObjectMeta,
  ServiceFacts,
} from '../../filter/codec/codec.ts';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  SERVICE_CIDRS,
  SERVICES,
} from '../../filter/codec/resource.ts';
import type { Clock } from '../../filter/projection/clock.ts';
import { DeletionsFirst } from '../../filter/projection/deletions-first.ts';
import { EndpointsProjection } from '../../filter/projection/endpoints-projection.ts';
import { PlainProjection } from '../../filter/projection/plain-projection.ts';
import { ServiceCidrsProjection } from '../../filter/projection/service-cidrs-projection.ts';
import { ServicesProjection } from '../../filter/projection/services-projection.ts';
import type { LogBounds } from '../../filter/view/event-log.ts';
import type { VersionAllocator } from '../../filter/view/version-allocator.ts';
import { View } from '../../filter/view/view.ts';
import type { ServiceFilter } from '../../topology/policy/service-policy.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Query } from '../api/query.ts';
import type { ReadLimits } from '../api/read-limits.ts';
import { Reflector, type ReflectorStatus } from '../reflector/reflector.ts';
import type { SnapshotStore } from '../snapshot/snapshot-store.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { OwnReadMemory, ReadMemory } from '../util/read-memory.ts';

/** What every source of a view is made from. */
export interface SourceContext {
  readonly upstream: Upstream;
  readonly clock: VersionAllocator;
  readonly topology: Topology;
  readonly logger: Logger;
  /** The least that an event log keeps. */
  readonly window: LogBounds;
  readonly time: Clock;
  readonly serviceFilter: ServiceFilter | undefined;
  /** Whether Services whose traffic all goes to the cloud are hidden. */
  readonly cloudPassthrough: boolean;
  /** What is read of the API server at most; see Reflector. */
  readonly bounds?: ReadLimits;
  /** What lists of the wrapper itself and of kube-proxy hold together while they are read. */
  readonly ownMemory?: OwnReadMemory;
  /** Where the last known state is kept over a restart; absent: nowhere. */
  readonly snapshots?: SnapshotStore;
  /** See Reflector. */
  readonly onHandled?: (seconds: number) => void;
}

/** A view and all that fills it: one reflector, one projection. */
export interface ViewSource {
  readonly query: Query;
  readonly view: View;
  /** Undefined for collections that are shown as they are. */
  readonly projection: EndpointsProjection | undefined;
  readonly status: ReflectorStatus;
  /** The object of this key as the API server has it, but for the version, also when it is hidden. */
  find(key: string): ObjectBytes | undefined;
  /** Ends the reflector and waits for it. The view stays readable, as it is. */
  close(): Promise<void>;
}

/** What a source needs beside its question. */
export interface SourceRole {
  /** Told about each change before the view is: what the world learns has to be in force when clients hear of it. */
  readonly feed?: ChangeHandler<ServiceFacts> | undefined;
  /** Whether this view of slices tells the world which Services are withheld. */
  readonly tellsCloudOnly?: boolean;
  /** Who pays for the memory; absent: nobody, for it is kube-proxy's or the world's. */
  readonly payer?: ViewPayer | undefined;
}

/** Pays for what a view takes in memory. */
export interface ViewPayer {
  /** Told what the view is about to take, in bytes. What it throws ends the view: it has called `close` before. */
  pay(bytes: number): void;
}

/** A view that is paid for remembers at most so much of the past: a client that falls behind lists again. */
const PAID_WINDOW: LogBounds = { entries: 1_000, bytes: 4 * 1024 * 1024 };
/** What an entry of a log takes beside its object. */
const ENTRY_BYTES = 160;

/** Opens a source for endpoints, filtered, or for any other collection, shown as it is. */
export function openViewSource(
  context: SourceContext,
  query: Query,
  codec: Codec,
  { feed, tellsCloudOnly = false, payer }: SourceRole = {},
): ViewSource {
  const { resource } = query;
  const { clock } = context;
  const most = payer === undefined ? undefined : PAID_WINDOW;
  const view = new View({ resource, codec, clock, window: context.window, most });
  if (resource === SERVICES) return openServices(context, query, view, { feed, payer });
  if (resource === SERVICE_CIDRS && context.cloudPassthrough) {
    const cidrs = new ServiceCidrsProjection(view, context.topology);
    const decode = (object: ObjectBytes) => codec.meta(object);
    const close = () => cidrs.close();
    const parts = { query, view, projection: undefined, decode, handlers: [cidrs], close, payer };
    return run(context, parts);
  }
  if (resource !== ENDPOINT_SLICES && resource !== ENDPOINTS) {
    return openPlain(context, query, view, (object) => codec.meta(object), [], payer);
  }
  const { topology, time } = context;
  const projection = new EndpointsProjection({
    view,
    topology,
    clock: time,
    tellsCloudOnly: tellsCloudOnly,
  });
  const decode = (object: ObjectBytes): EndpointsFacts =>
    resource === ENDPOINTS ? codec.endpoints(object) : codec.endpointSlice(object);
  const close = () => projection.close();
  return run(context, { query, view, projection, decode, handlers: [projection], close, payer });
}

/** Opens a source that shows objects as they are and tells feeds about them first. */
export function openPlain<Facts extends ObjectMeta>(
  context: SourceContext,
  query: Query,
  view: View,
  decode: (object: ObjectBytes) => Facts,
  feeds: readonly ChangeHandler<Facts>[],
  payer?: ViewPayer,
): ViewSource {
  const handlers = [...feeds, new PlainProjection(view)];
  const close = (): void => {};
  return run(context, { query, view, projection: undefined, decode, handlers, close, payer });
}

function openServices(
  context: SourceContext,
  query: Query,
  view: View,
  { feed, payer }: Pick<SourceRole, 'feed' | 'payer'>,
): ViewSource {
  const { topology, serviceFilter, cloudPassthrough } = context;
  const decode = (object: ObjectBytes) => view.codec.service(object);
  const feeds = feed === undefined ? [] : [feed];
  if (serviceFilter === undefined && !cloudPassthrough) {
    return openPlain(context, query, view, decode, [new DeletionsFirst(view), ...feeds], payer);
  }
  const options = { view, topology, serviceFilter, followsCloudOnly: cloudPassthrough, feed };
  const services = new ServicesProjection(options);
  const handlers = [services];
  const find = (key: string) => services.find(key);
  const close = () => services.close();
  const parts = { query, view, projection: undefined, decode, handlers, find, close, payer };
  return run(context, parts);
}

function run<Facts extends ObjectMeta>(
  context: SourceContext,
  parts: {
    readonly query: Query;
    readonly view: View;
    readonly projection: EndpointsProjection | undefined;
    readonly decode: (object: ObjectBytes) => Facts;
    readonly handlers: readonly ChangeHandler<Facts>[];
    /** Default: what the view shows. */
    readonly find?: ViewSource['find'];
    /** Ends what the handlers have opened. */
    readonly close: () => void;
    readonly payer: ViewPayer | undefined;
  },
): ViewSource {
  const { query, view, projection, payer } = parts;
  const memory =
    payer === undefined ? context.ownMemory?.account() : memoryOf(context, parts, payer);
  const controller = new AbortController();
  const reflector = new Reflector({
    ...context,
    ...parts,
    codec: view.codec,
    metadataOnly: false,
    memory,
    onUnanswerable: (error) => view.refuse(error),
  });
  const running = reflector.run(controller.signal);
  return {
    query,
    view,
    projection,
    find: parts.find ?? ((key) => view.get(key)),
    get status() {
      return reflector.status;
    },
    async close() {
      parts.close();
      controller.abort();
      await running;
    },
  };
}

/** Adds up what a view takes: its list while that is read, its objects, what is shown of them, and its log. */
function memoryOf(
  { snapshots }: SourceContext,
  {
    view,
    projection,
  }: { readonly view: View; readonly projection: EndpointsProjection | undefined },
  payer: ViewPayer,
): ReadMemory {
  let held = { list: 0, objects: 0 };
  const pay = (next: typeof held): void => {
    const log = view.started ? view.log.bytes + view.log.size * ENTRY_BYTES : 0;
    // The raw objects are held once more for the disk.
    const raw = snapshots === undefined ? next.objects : 2 * next.objects;
    payer.pay(next.list + raw + log + (projection?.copiedBytes ?? 0));
    held = next;
  };
  return {
    reading: (list) => pay({ ...held, list }),
    objects: (objects) => pay({ ...held, objects }),
  };
}
