/*
 * The codec room: objects of the Kubernetes API as bytes. `Codec` is the contract. A codec decodes a LIST or a watch
 * stream into objects, reads facts from an object, edits it, and encodes it again for clients. It does no I/O and takes
 * no decision.
 *
 * json/ and protobuf/ decode and encode bodies, and implement cursor.ts: a Cursor reads the fields of one message, an
 * Editor changes them. All that is about Kubernetes objects is written once, on top of both: schema.ts names the fields.
 */
import type { Status } from '../../errors.ts';
import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { EndpointCorrection, PodEndpoint } from './facts/pod-endpoint.ts';
import type { Resource } from './facts/resource.ts';

/** How objects are encoded; one upstream stream and one view never mix them. */
export type Encoding = 'json' | 'protobuf';

/**
 * An object's encoded bytes without `kind` and `apiVersion`, as the items of a LIST carry them: a JSON object without
 * newlines, or the protobuf message inside `runtime.Unknown.raw`.
 */
export type ObjectBytes = Buffer;

/**
 * A decoded LIST. In protobuf the items share the memory of the body, except an item that spans two buffers. In
 * JSON each item owns its bytes.
 */
export interface RawList {
  /** Such as `EndpointSliceList`. */
  readonly kind: string;
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
   * Why the stream cannot be read beyond these events: `TooLarge` for a frame, `Malformed` for bytes that do not
   * parse or an event of unknown type. The events before the fault are still valid. So the events that a consumer
   * gets do not depend on how the network cut the chunks.
   */
  readonly fault: unknown;
}

/** Decodes one watch stream. Do not use it after a fault. */
export interface WatchDecoder {
  /** Takes the next chunk, which may be cut anywhere. */
  push(chunk: Buffer): DecodedChunk;
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

/** What the topology needs of an object: a Node, or any PartialObjectMetadata. */
export interface PartialObjectMetadata extends ObjectMeta {
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/** What a decision needs of an EndpointSlice or Endpoints object. */
export interface EndpointsFacts extends ObjectMeta {
  /**
   * Name of the Service it belongs to: a slice's label `kubernetes.io/service-name`, empty when the label is
   * absent; an Endpoints object's own name.
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
  /** `<protocol>/<name>` of each port, as in EndpointGroup.ports. */
  readonly ports: readonly string[];
  /** `spec.type`; empty when absent. */
  readonly type: string;
  /** `spec.clusterIP`, `None` for a headless Service; empty when absent. */
  readonly clusterIP: string;
  /** `spec.internalTrafficPolicy`; empty when absent. */
  readonly internalTrafficPolicy: string;
  /** `spec.externalTrafficPolicy`; empty when absent. */
  readonly externalTrafficPolicy: string;
  /** `spec.trafficDistribution`; empty when absent. */
  readonly trafficDistribution: string;
}

/** A port with its number. Decisions use only its key. */
export interface PortNumber {
  /** `<protocol>/<name>`, as in EndpointGroup.ports. */
  readonly key: string;
  /** 0 when absent. */
  readonly number: number;
}

/** Addresses and port numbers of one group of {@link EndpointsFacts.groups}. Facts omit them to save memory. */
export interface GroupAddresses {
  readonly ports: readonly PortNumber[];
  /** Addresses of each endpoint, in the order of the group. */
  readonly endpoints: readonly (readonly string[])[];
  /** Whether each endpoint has hints. */
  readonly hinted: readonly boolean[];
}

/** Where a Service is reached. */
export interface ServiceAddresses {
  /** One for each address family; `None` for a headless Service. */
  readonly clusterIPs: readonly string[];
  readonly ports: readonly PortNumber[];
}

/** Which endpoints of an object a client sees, and how. */
export interface EndpointsEdit {
  /**
   * Which endpoints stay: one entry per endpoint in the order of {@link EndpointsFacts.groups}, flattened;
   * 0 cuts it. Absent: all stay. A subset of an Endpoints object that loses its last address is cut too, because
   * the API does not allow an empty subset.
   */
  readonly keep?: Uint8Array;
  /** Also cut `hints` from the endpoints that stay. */
  readonly cutHints?: boolean;
}

/** How {@link ObjectReader.edit} changes an object. The rest of it stays: in protobuf byte for byte, in JSON as a value. */
export interface Edit extends EndpointsEdit {
  /** New `metadata.resourceVersion`. Absent: it stays. */
  readonly resourceVersion?: string;
  /** Changes of single endpoints, by their index in the order of {@link keep}. */
  readonly corrections?: ReadonlyMap<number, EndpointCorrection>;
  /**
   * Also cut the fields that clients do not act on: resourceVersion, generation, managedFields and the annotation
   * `endpoints.kubernetes.io/last-change-trigger-time`. Two objects with equal results are the same for kube-proxy.
   * Use the result for comparison only.
   */
  readonly withoutNoise?: boolean;
  /** Cut managedFields and all annotations but short ones of these names, and nothing else. */
  readonly onlyAnnotations?: readonly string[];
}

/** Reads facts from the bytes of an object, and edits it. The same for both encodings. */
export interface ObjectReader {
  meta(object: ObjectBytes): ObjectMeta;
  partialMetadata(object: ObjectBytes): PartialObjectMetadata;
  service(object: ObjectBytes): ServiceFacts;
  endpointSlice(object: ObjectBytes): EndpointsFacts;
  endpoints(object: ObjectBytes): EndpointsFacts;
  /** Addresses and port numbers of an EndpointSlice or Endpoints object, in the order of its facts' groups. */
  addresses(resource: Resource, object: ObjectBytes): readonly GroupAddresses[];
  serviceAddresses(object: ObjectBytes): ServiceAddresses;
  /** The endpoints of an EndpointSlice or Endpoints object on a node whose targetRef names a Pod. */
  podEndpoints(resource: Resource, object: ObjectBytes, node: string): readonly PodEndpoint[];

  /**
   * Returns an object with an edit applied; the object itself if the edit is empty. `keep`, `cutHints` and `corrections`
   * apply only to EndpointSlices and Endpoints. In an Endpoints object, an endpoint that becomes not ready moves to the
   * subset's notReadyAddresses, and Endpoints have no hints. In JSON, members that a later member with the same name
   * replaces are cut: clients that merge members must not see them.
   */
  edit(resource: Resource, object: ObjectBytes, edit: Edit): ObjectBytes;
}

/**
 * Reads and writes one encoding. It never decodes an object into a typed structure to encode it again, because
 * objects contain fields newer than this program. Bytes that do not parse, or that contain a value of the wrong
 * type, throw a `WrapperError` with code `Malformed` and, if possible, the offset.
 */
export interface Codec extends ObjectReader {
  readonly encoding: Encoding;

  /**
   * Decodes the body of a LIST, which may be split into buffers anywhere. Throws `Refused` when it is a Status, and
   * `TooLarge` at the first item beyond `maxItems` (default: no limit).
   */
  decodeList(buffers: readonly Buffer[], maxItems?: number): RawList;
  /** Creates a decoder of one watch stream. It does not buffer a frame larger than `maxFrameBytes`. */
  watchDecoder(maxFrameBytes: number): WatchDecoder;
  /** Reads a Status body; undefined when it is not a Status. */
  decodeStatus(body: Buffer): Status | undefined;

  /** A LIST body as a list of buffers, to be written in order. The objects are not copied. */
  encodeList(resource: Resource, resourceVersion: string, items: readonly ObjectBytes[]): Buffer[];
  /** The body of a GET of one object, as a list of buffers. */
  encodeObject(resource: Resource, object: ObjectBytes): Buffer[];
  /** One frame of a watch stream, as a list of buffers, to be written in order. The object is not copied. */
  encodeEvent(resource: Resource, type: ChangeType, object: ObjectBytes): Buffer[];
  /** A BOOKMARK frame; `initialEventsEnd` marks the end of a streaming list (annotation k8s.io/initial-events-end). */
  encodeBookmark(resource: Resource, resourceVersion: string, initialEventsEnd: boolean): Buffer;
  /** An ERROR frame. */
  encodeErrorEvent(status: Status): Buffer;
  /** A Status as a whole body. */
  encodeStatus(status: Status): Buffer;
}

/** Codecs by encoding. */
export type Codecs = Readonly<Record<Encoding, Codec>>;
