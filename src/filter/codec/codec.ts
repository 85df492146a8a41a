import type { Status } from '../../errors.ts';
import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { Resource } from './resource.ts';

/** How objects are encoded; one upstream stream and one view never mix them. */
export type Encoding = 'json' | 'protobuf';

/**
 * An object's encoded bytes without `kind` and `apiVersion`, as the items of a LIST carry them: a JSON
 * object as JSON.stringify writes it, or the protobuf message inside `runtime.Unknown.raw`.
 */
export type ObjectBytes = Buffer;

/**
 * A decoded LIST. In protobuf the items share the memory of the body, except those that lie in two of its pieces. In
 * JSON each item owns its bytes.
 */
export interface RawList {
  readonly resourceVersion: string;
  /** Continue token of a chunked list; empty when the list is complete. */
  readonly continue: string;
  readonly items: readonly ObjectBytes[];
}

/** One decoded watch event. The object owns its bytes; it does not keep the network chunk alive. */
export type RawEvent =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
      readonly object: ObjectBytes;
    }
  | { readonly type: 'ERROR'; readonly status: Status };

/** What a chunk of a watch stream completes. */
export interface DecodedChunk {
  readonly events: RawEvent[];
  /**
   * Why the stream cannot be followed beyond these events: `TooLarge` for a frame, `Malformed` for bytes that
   * do not parse or an event of unknown type. What came before it counts, so that the events a consumer gets
   * do not depend on how the network cut the chunks.
   */
  readonly fault: unknown;
}

/** Decodes one watch stream. After a fault it is of no use any more. */
export interface WatchDecoder {
  /** Takes the next chunk, which may be cut anywhere. */
  push(chunk: Uint8Array): DecodedChunk;
  /** Throws `Malformed` when the stream ends within a frame. */
  finish(): void;
}

/** Types of the events that a view sends to its watchers, apart from bookmarks and errors. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface ObjectMeta {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What the world needs of an object that is only looked at: a Node, or any PartialObjectMetadata. */
export interface PartialObjectMetadata extends ObjectMeta {
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/** What a decision needs of an EndpointSlice or Endpoints object. */
export interface EndpointsFacts extends ObjectMeta {
  /**
   * Name of the Service it belongs to: the label `kubernetes.io/service-name` of a slice (empty when it has
   * none), the own name of an Endpoints object.
   */
  readonly service: string;
  /** Whether any endpoint carries `hints`. */
  readonly hinted: boolean;
  /**
   * One group for a slice, one per subset (addresses, then notReadyAddresses) for an Endpoints object. Equal
   * endpoints are one object: 100,000 differ, for a decision, in a few nodes, zones and states.
   */
  readonly groups: readonly EndpointGroup[];
}

/** What a decision needs of a Service. */
export interface ServiceFacts extends PartialObjectMetadata {
  /** `spec.type`; empty when absent. */
  readonly type: string;
  /** `spec.clusterIP`, `None` for a headless Service; empty when absent. */
  readonly clusterIP: string;
  /** `spec.internalTrafficPolicy`; empty when absent. */
  readonly internalTrafficPolicy: string;
  /** `spec.externalTrafficPolicy`; empty when absent. */
  readonly externalTrafficPolicy: string;
}

/** A port with its number, as decisions know it by name. */
export interface PortNumber {
  /** `<protocol>/<name>`, as in EndpointGroup.ports. */
  readonly key: string;
  /** 0 when absent. */
  readonly number: number;
}

/** Of one group of {@link EndpointsFacts.groups} what a decision does not need, and so nobody remembers. */
export interface GroupAddresses {
  readonly ports: readonly PortNumber[];
  /** Addresses of each endpoint, in the order of the group. */
  readonly endpoints: readonly (readonly string[])[];
}

/** Where a Service is reached. */
export interface ServiceAddresses {
  /** One for each address family; `None` of a headless one. */
  readonly clusterIPs: readonly string[];
  readonly ports: readonly PortNumber[];
}

/** Which endpoints of an object are shown, and how. */
export interface EndpointsEdit {
  /**
   * Which endpoints stay: one entry per endpoint in the order of {@link EndpointsFacts.groups}, flattened;
   * 0 cuts it. Absent: all stay. A subset of an Endpoints object left without any address goes too, for the
   * API allows no empty subset.
   */
  readonly keep?: Uint8Array;
  /** Also cut `hints` from the endpoints that stay. */
  readonly cutHints?: boolean;
}

/**
 * How {@link Codec.splice} changes an object. The rest stays: in protobuf byte for byte, in JSON equal as a value.
 */
export interface Edit extends EndpointsEdit {
  /** New `metadata.resourceVersion`. */
  readonly resourceVersion: string;
}

/**
 * Reads and writes one encoding. Never decodes an object into a typed structure to encode it again: objects
 * contain fields newer than this program. Bytes that do not parse, or hold a value of another type than the API
 * has, throw a `WrapperError` with code `Malformed` and the offset as far as it is known.
 */
export interface Codec {
  readonly encoding: Encoding;

  /**
   * Decodes the body of a LIST, which may be cut anywhere. Throws `Refused` when it is a Status, and `TooLarge` at the
   * first item beyond `maxItems` (default: any number).
   */
  decodeList(buffers: readonly Buffer[], maxItems?: number): RawList;
  /** A decoder of one watch stream, that buffers no frame of more than `maxFrameBytes`. */
  watchDecoder(maxFrameBytes: number): WatchDecoder;
  /** Reads a Status body; undefined when it is none. */
  decodeStatus(body: Buffer): Status | undefined;

  meta(object: ObjectBytes): ObjectMeta;
  partialMetadata(object: ObjectBytes): PartialObjectMetadata;
  service(object: ObjectBytes): ServiceFacts;
  endpointSlice(object: ObjectBytes): EndpointsFacts;
  endpoints(object: ObjectBytes): EndpointsFacts;
  /** Addresses and port numbers of an EndpointSlice or Endpoints object, in the order of its facts' groups. */
  addresses(resource: Resource, object: ObjectBytes): readonly GroupAddresses[];
  serviceAddresses(object: ObjectBytes): ServiceAddresses;

  /** Returns a copy of an object with an edit applied; `keep` and `cutHints` need the resource to be one of endpoints. */
  splice(resource: Resource, object: ObjectBytes, edit: Edit): ObjectBytes;
  /**
   * Returns the object without what is no change for a client: resourceVersion, generation, managedFields
   * and the annotation `endpoints.kubernetes.io/last-change-trigger-time`. Two objects with equal results
   * are the same for kube-proxy. The result is for comparison only.
   */
  semanticBytes(object: ObjectBytes): Buffer;
  /** {@link semanticBytes} of what an edit makes of an object, whatever the version it is given. */
  significantAfter(resource: Resource, object: ObjectBytes, edit: EndpointsEdit): Buffer;

  /** A LIST body, in pieces that are to be written one after the other; the objects are not copied. */
  encodeList(resource: Resource, resourceVersion: string, items: readonly ObjectBytes[]): Buffer[];
  /** The body of a GET of one object, in pieces. */
  encodeObject(resource: Resource, object: ObjectBytes): Buffer[];
  /** One frame of a watch stream. */
  encodeEvent(resource: Resource, type: ChangeType, object: ObjectBytes): Buffer;
  /** The same in pieces, to be written one after the other; the object is not copied. */
  encodeEventBuffers(resource: Resource, type: ChangeType, object: ObjectBytes): Buffer[];
  /** A BOOKMARK frame; `initialEventsEnd` marks the end of a streaming list (annotation k8s.io/initial-events-end). */
  encodeBookmark(resource: Resource, resourceVersion: string, initialEventsEnd: boolean): Buffer;
  /** An ERROR frame. */
  encodeErrorEvent(status: Status): Buffer;
  /** A Status as a whole body. */
  encodeStatus(status: Status): Buffer;
}

/** Codecs by encoding. */
export type Codecs = Readonly<Record<Encoding, Codec>>;
