/*
 * The codec room: objects of the Kubernetes API as bytes. `Codec` is the contract. A codec decodes a LIST or a watch
 * stream into objects, reads facts from an object, edits it, and encodes it again for clients. It does no I/O and takes
 * no decision.
 *
 * json/ and protobuf/ decode and encode bodies, and implement cursor.ts: a Cursor reads the fields of one message, an
 * Editor changes them. The room objects has all that is about Kubernetes objects, once for both. bytes/ has what both
 * encodings do with buffers and streams.
 */
import { type Status, WrapperError } from '../../errors.ts';
import { portNumbers, SERVICE_NAME_LABEL } from '../objects/api-conventions.ts';
import { type Edit, editObject } from '../objects/edit.ts';
import { EndpointCache } from '../objects/endpoint-cache.ts';
import {
  type FullGroup,
  SLICE_GROUP,
  SLICE_GROUP_FACTS,
  sliceGroups,
  subsetGroups,
} from '../objects/endpoint-groups.ts';
import { endpointsFacts } from '../objects/endpoints-facts.ts';
import type {
  EndpointsFacts,
  ObjectMeta,
  OwnNodeFacts,
  PartialObjectMetadata,
  ServiceAddresses,
  ServiceFacts,
} from '../objects/object-facts.ts';
import { readMessage } from '../objects/read-message.ts';
import { ENDPOINTS, type Resource } from '../objects/resource.ts';
import {
  type AnyMessage,
  ENDPOINTS_FACTS,
  ENDPOINTS_MESSAGE,
  IDENTIFIED_OBJECT,
  LABELLED_OBJECT,
  type Message,
  OWN_NODE,
  SERVICE,
  SERVICE_FACTS,
  STATUS,
  VERSIONED_OBJECT,
} from '../objects/schema.ts';
import { statusValue } from '../objects/status.ts';
import { MAX_ELEMENTS, tooManyElements } from './bytes/element-limit.ts';
import { malformed } from './bytes/malformed.ts';
import type { Encoding, ObjectBytes, RawList } from './bytes/raw-objects.ts';
import type { WatchDecoder } from './bytes/watch-decoder.ts';
import type { MessageValue } from './cursor.ts';
import { cursorOf, editorOf } from './encoded-object.ts';

export type { Edit, EndpointsEdit } from '../objects/edit.ts';
export type * from '../objects/object-facts.ts';
export type { Encoding, ObjectBytes, RawEvent, RawList } from './bytes/raw-objects.ts';
export type { DecodedChunk, WatchDecoder } from './bytes/watch-decoder.ts';

/** Types of the events that a view sends to its watchers, apart from bookmarks and errors. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Types of the events of a watch stream. */
export type EventType = ChangeType | 'BOOKMARK' | 'ERROR';

/** Objects of kind Status, which are in no collection. */
const STATUS_RESOURCE: Resource = {
  group: '',
  version: 'v1',
  plural: '',
  kind: 'Status',
  namespaced: false,
};

/**
 * Reads and writes bodies of one encoding. It reads and edits an object in whichever encoding the object is, because
 * the API server may change to another one. It never decodes an object into a typed structure to encode it again,
 * because objects contain fields newer than this program. Bytes that do not parse, or that contain a value of the wrong
 * type, throw a `WrapperError` with code `Malformed` and, if possible, the offset. Its only state are
 * caches.
 */
export abstract class Codec {
  abstract readonly encoding: Encoding;
  readonly #endpoints = new EndpointCache();

  /**
   * Decodes the body of a LIST, which may be split into buffers anywhere. Throws `Refused` when it is a Status, and
   * `TooLarge` at the first item beyond `maxItems` (default: no limit).
   */
  abstract decodeList(buffers: readonly Buffer[], maxItems?: number): RawList;

  /** Creates a decoder of one watch stream. It does not buffer a frame larger than `maxFrameBytes`. */
  abstract watchDecoder(maxFrameBytes: number): WatchDecoder;

  /** Reads a Status body; undefined when it is not a Status or does not parse. */
  decodeStatus(body: Buffer): Status | undefined {
    try {
      return this.readStatus(body);
    } catch {
      // The body of an error response, perhaps HTML or text. The caller uses its HTTP status instead.
      return undefined;
    }
  }

  meta(object: ObjectBytes): ObjectMeta {
    return this.#read(object, IDENTIFIED_OBJECT).metadata;
  }

  resourceVersion(object: ObjectBytes): string {
    return this.#read(object, VERSIONED_OBJECT).metadata.resourceVersion;
  }

  partialMetadata(object: ObjectBytes): PartialObjectMetadata {
    return this.#read(object, LABELLED_OBJECT).metadata;
  }

  ownNode(object: ObjectBytes): OwnNodeFacts {
    const { metadata, spec, status } = this.#read(object, OWN_NODE);
    const { podCIDRs } = spec;
    return { ...metadata, identity: JSON.stringify([metadata.uid, podCIDRs, status.addresses]) };
  }

  service(object: ObjectBytes): ServiceFacts {
    const { metadata, spec } = this.#read(object, SERVICE_FACTS);
    const { ports, clusterIPs: _, ...facts } = spec;
    return { ...metadata, ...facts, ports: portNumbers(ports).map(({ key }) => key) };
  }

  serviceAddresses(object: ObjectBytes): ServiceAddresses {
    const { clusterIP, clusterIPs, ports } = this.#read(object, SERVICE).spec;
    const single = clusterIP === '' ? [] : [clusterIP];
    return { clusterIPs: clusterIPs.length === 0 ? single : clusterIPs, ports: portNumbers(ports) };
  }

  /** Facts of an EndpointSlice or Endpoints object. */
  endpoints({ kind }: Resource, object: ObjectBytes): EndpointsFacts {
    if (kind === ENDPOINTS.kind) {
      const { metadata, ...values } = this.#read(object, ENDPOINTS_FACTS);
      return endpointsFacts(metadata, metadata.name, subsetGroups(values), this.#endpoints);
    }
    const { metadata, ...values } = this.#read(object, SLICE_GROUP_FACTS);
    const service = metadata.labels.get(SERVICE_NAME_LABEL) ?? '';
    return endpointsFacts(metadata, service, sliceGroups(values), this.#endpoints);
  }

  /** The groups of {@link endpoints}, with all that is read of them. */
  endpointGroups({ kind }: Resource, object: ObjectBytes): readonly FullGroup[] {
    return kind === ENDPOINTS.kind
      ? subsetGroups(this.#read(object, ENDPOINTS_MESSAGE))
      : sliceGroups(this.#read(object, SLICE_GROUP));
  }

  /**
   * Returns an object with an edit applied; the object itself if the edit is empty. `keep`, `cutHints` and
   * `corrections` apply only to EndpointSlices and Endpoints. In an Endpoints object, an endpoint that becomes not
   * ready moves to the subset's notReadyAddresses, and Endpoints have no hints. In JSON, members that a later member
   * with the same name replaces are cut: clients that merge members must not see them.
   */
  edit(resource: Resource, object: ObjectBytes, edit: Edit): ObjectBytes {
    return editObject(editorOf(object), resource, object, edit);
  }

  /**
   * A LIST body as a list of buffers, to be written in order. Nothing is copied.
   *
   * @param items each behind its head; one buffer may have several, but the first has the first head
   */
  abstract encodeList(
    resource: Resource,
    resourceVersion: string,
    items: readonly Buffer[],
  ): Buffer[];

  /** What is before an item of so many bytes in a list. */
  abstract itemHead(bytes: number): Buffer;

  /** The body of a GET of one object, as a list of buffers. */
  abstract encodeObject(resource: Resource, object: ObjectBytes): Buffer[];

  /** One frame of a watch stream, as a list of buffers, to be written in order. The object is not copied. */
  abstract encodeEvent(resource: Resource, type: EventType, object: ObjectBytes): Buffer[];

  /** A BOOKMARK frame; `initialEventsEnd` marks the end of a streaming list (annotation k8s.io/initial-events-end). */
  encodeBookmark(resource: Resource, resourceVersion: string, initialEventsEnd: boolean): Buffer {
    const object = this.bookmark(resource, resourceVersion, initialEventsEnd);
    return Buffer.concat(this.encodeEvent(resource, 'BOOKMARK', object));
  }

  /** An ERROR frame. */
  encodeErrorEvent(status: Status): Buffer {
    return Buffer.concat(this.encodeEvent(STATUS_RESOURCE, 'ERROR', this.#statusBytes(status)));
  }

  /** A Status as a whole body. */
  encodeStatus(status: Status): Buffer {
    return Buffer.concat(this.encodeObject(STATUS_RESOURCE, this.#statusBytes(status)));
  }

  /** Reads a Status body; undefined when it is not a Status. */
  protected abstract readStatus(body: Buffer): Status | undefined;

  /** The object of a bookmark. */
  protected abstract bookmark(
    resource: Resource,
    resourceVersion: string,
    initialEventsEnd: boolean,
  ): ObjectBytes;

  /** Encodes a message. JSON leaves out empty texts and zeros, as Go does (`omitempty`). */
  protected abstract encodeMessage(message: AnyMessage, value: MessageValue): Buffer;

  #read<Values>(object: ObjectBytes, message: Message<Values>): Values {
    let elements = 0;
    return readMessage(cursorOf(object, message), message, () => {
      if (++elements > MAX_ELEMENTS) throw tooManyElements(this.meta(object));
    });
  }

  #statusBytes(status: Status): Buffer {
    return this.encodeMessage(STATUS, statusValue(status));
  }
}

/** Throws unless a body is a list: `Refused` for a Status. */
export function assertList(kind: string, readStatus: () => Status): void {
  if (kind === 'Status') {
    const status = readStatus();
    throw new WrapperError('Refused', `list refused: ${status.message}`, { status });
  }
  if (!kind.endsWith('List')) throw malformed(`a list of kind '${kind}'`, 0);
}
