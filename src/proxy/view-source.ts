import type { Logger } from 'pino';
import type { ChangeSink } from '../filter/change.ts';
import type { Clock } from '../filter/clock.ts';
import type {
  Codec,
  EndpointsFacts,
  ObjectBytes,
  ObjectMeta,
  ServiceFacts,
} from '../filter/codec.ts';
import { Departures } from '../filter/departures.ts';
import { EndpointsProjection } from '../filter/endpoints-projection.ts';
import type { LogBounds } from '../filter/event-log.ts';
import { PlainProjection } from '../filter/plain-projection.ts';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICE_CIDRS, SERVICES } from '../filter/resource.ts';
import { ServiceCidrsProjection } from '../filter/service-cidrs-projection.ts';
import { ServicesProjection } from '../filter/services-projection.ts';
import type { VersionClock } from '../filter/version-clock.ts';
import { View } from '../filter/view.ts';
import type { ServiceFilter } from '../topology/service-policy.ts';
import type { World } from '../topology/world.ts';
import type { Question } from './question.ts';
import type { ReadBounds } from './read-bounds.ts';
import type { OwnReadMemory, ReadMemory } from './read-memory.ts';
import { Reflector, type ReflectorStatus } from './reflector.ts';
import type { SnapshotStore } from './snapshot-store.ts';
import type { Upstream } from './upstream.ts';

/** What every source of a view is made from. */
export interface SourceContext {
  readonly upstream: Upstream;
  readonly clock: VersionClock;
  readonly world: World;
  readonly logger: Logger;
  /** The least that an event log keeps. */
  readonly window: LogBounds;
  readonly time: Clock;
  readonly serviceFilter: ServiceFilter | undefined;
  /** Whether Services whose traffic all goes to the cloud are hidden. */
  readonly cloudPassthrough: boolean;
  /** What is read of the API server at most; see Reflector. */
  readonly bounds?: ReadBounds;
  /** What lists of the wrapper itself and of kube-proxy hold together while they are read. */
  readonly ownMemory?: OwnReadMemory;
  /** Where the last known state is kept over a restart; absent: nowhere. */
  readonly snapshots?: SnapshotStore;
  /** See Reflector. */
  readonly onHandled?: (seconds: number) => void;
}

/** A view and all that fills it: one reflector, one projection. */
export interface ViewSource {
  readonly question: Question;
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
  readonly feed?: ChangeSink<ServiceFacts> | undefined;
  /** Whether this view of slices tells the world which Services are withheld. */
  readonly tellsWithheld?: boolean;
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
  question: Question,
  codec: Codec,
  { feed, tellsWithheld = false, payer }: SourceRole = {},
): ViewSource {
  const { resource } = question;
  const { clock } = context;
  const most = payer === undefined ? undefined : PAID_WINDOW;
  const view = new View({ resource, codec, clock, window: context.window, most });
  if (resource === SERVICES) return openServices(context, question, view, { feed, payer });
  if (resource === SERVICE_CIDRS && context.cloudPassthrough) {
    const cidrs = new ServiceCidrsProjection(view, context.world);
    const decode = (object: ObjectBytes) => codec.meta(object);
    const close = () => cidrs.close();
    const parts = { question, view, projection: undefined, decode, sinks: [cidrs], close, payer };
    return run(context, parts);
  }
  if (resource !== ENDPOINT_SLICES && resource !== ENDPOINTS) {
    return openPlain(context, question, view, (object) => codec.meta(object), [], payer);
  }
  const { world, time } = context;
  const projection = new EndpointsProjection({ view, world, clock: time, tellsWithheld });
  const decode = (object: ObjectBytes): EndpointsFacts =>
    resource === ENDPOINTS ? codec.endpoints(object) : codec.endpointSlice(object);
  const close = () => projection.close();
  return run(context, { question, view, projection, decode, sinks: [projection], close, payer });
}

/** Opens a source that shows objects as they are and tells feeds about them first. */
export function openPlain<Facts extends ObjectMeta>(
  context: SourceContext,
  question: Question,
  view: View,
  decode: (object: ObjectBytes) => Facts,
  feeds: readonly ChangeSink<Facts>[],
  payer?: ViewPayer,
): ViewSource {
  const sinks = [...feeds, new PlainProjection(view)];
  const close = (): void => {};
  return run(context, { question, view, projection: undefined, decode, sinks, close, payer });
}

function openServices(
  context: SourceContext,
  question: Question,
  view: View,
  { feed, payer }: Pick<SourceRole, 'feed' | 'payer'>,
): ViewSource {
  const { world, serviceFilter, cloudPassthrough } = context;
  const decode = (object: ObjectBytes) => view.codec.service(object);
  const feeds = feed === undefined ? [] : [feed];
  if (serviceFilter === undefined && !cloudPassthrough) {
    return openPlain(context, question, view, decode, [new Departures(view), ...feeds], payer);
  }
  const options = { view, world, serviceFilter, followsWithheld: cloudPassthrough, feed };
  const services = new ServicesProjection(options);
  const sinks = [services];
  const find = (key: string) => services.find(key);
  const close = () => services.close();
  const parts = { question, view, projection: undefined, decode, sinks, find, close, payer };
  return run(context, parts);
}

function run<Facts extends ObjectMeta>(
  context: SourceContext,
  parts: {
    readonly question: Question;
    readonly view: View;
    readonly projection: EndpointsProjection | undefined;
    readonly decode: (object: ObjectBytes) => Facts;
    readonly sinks: readonly ChangeSink<Facts>[];
    /** Default: what the view shows. */
    readonly find?: ViewSource['find'];
    /** Ends what the sinks have opened. */
    readonly close: () => void;
    readonly payer: ViewPayer | undefined;
  },
): ViewSource {
  const { question, view, projection, payer } = parts;
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
    question,
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
