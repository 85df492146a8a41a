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
  readonly feed?: ChangeSink<ServiceFacts>;
  /** Whether this view of slices tells the world which Services are withheld. */
  readonly tellsWithheld?: boolean;
}

/** Opens a source for endpoints, filtered, or for any other collection, shown as it is. */
export function openViewSource(
  context: SourceContext,
  question: Question,
  codec: Codec,
  { feed, tellsWithheld = false }: SourceRole = {},
): ViewSource {
  const { resource } = question;
  const view = new View({ resource, codec, clock: context.clock, window: context.window });
  if (resource === SERVICES) return openServices(context, question, view, feed);
  if (resource === SERVICE_CIDRS && context.cloudPassthrough) {
    const cidrs = new ServiceCidrsProjection(view, context.world);
    const decode = (object: ObjectBytes) => codec.meta(object);
    const close = () => cidrs.close();
    return run(context, { question, view, projection: undefined, decode, sinks: [cidrs], close });
  }
  if (resource !== ENDPOINT_SLICES && resource !== ENDPOINTS) {
    return openPlain(context, question, view, (object) => codec.meta(object), []);
  }
  const { world, time } = context;
  const projection = new EndpointsProjection({ view, world, clock: time, tellsWithheld });
  const decode = (object: ObjectBytes): EndpointsFacts =>
    resource === ENDPOINTS ? codec.endpoints(object) : codec.endpointSlice(object);
  const close = () => projection.close();
  return run(context, { question, view, projection, decode, sinks: [projection], close });
}

/** Opens a source that shows objects as they are and tells feeds about them first. */
export function openPlain<Facts extends ObjectMeta>(
  context: SourceContext,
  question: Question,
  view: View,
  decode: (object: ObjectBytes) => Facts,
  feeds: readonly ChangeSink<Facts>[],
): ViewSource {
  const sinks = [...feeds, new PlainProjection(view)];
  return run(context, { question, view, projection: undefined, decode, sinks, close: () => {} });
}

function openServices(
  context: SourceContext,
  question: Question,
  view: View,
  feed: ChangeSink<ServiceFacts> | undefined,
): ViewSource {
  const { world, serviceFilter, cloudPassthrough } = context;
  const decode = (object: ObjectBytes) => view.codec.service(object);
  const feeds = feed === undefined ? [] : [feed];
  if (serviceFilter === undefined && !cloudPassthrough) {
    return openPlain(context, question, view, decode, [new Departures(view), ...feeds]);
  }
  const options = { view, world, serviceFilter, followsWithheld: cloudPassthrough, feed };
  const services = new ServicesProjection(options);
  const sinks = [services];
  const find = (key: string) => services.find(key);
  const close = () => services.close();
  return run(context, { question, view, projection: undefined, decode, sinks, find, close });
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
  },
): ViewSource {
  const { question, view, projection } = parts;
  const controller = new AbortController();
  const reflector = new Reflector({
    ...context,
    ...parts,
    codec: view.codec,
    metadataOnly: false,
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
