import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { apiVersionOf, type Collection } from './collections.ts';
import type { KubeObject } from './kube-object.ts';
import type { KubeStatus } from './kube-status.ts';
import { encodeMessage } from './protobuf-encode.ts';

/** The negotiated format of a response. */
export interface Format {
  readonly encoding: 'json' | 'protobuf';
  /** Only `metadata` of each object, as PartialObjectMetadata(List) of meta.k8s.io/v1. */
  readonly metadataOnly: boolean;
}

/** `metadata` of a list. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Types of watch events. */
export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

const PARTIAL = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' } as const;
const STATUS = { kind: 'Status', apiVersion: 'v1' } as const;

interface TypeMeta {
  readonly kind: string;
  readonly apiVersion: string;
}

function typeOf(collection: Collection, format: Format): TypeMeta {
  if (format.metadataOnly) return PARTIAL;
  return { kind: collection.kind, apiVersion: apiVersionOf(collection) };
}

/** An object's content without kind and apiVersion. */
function contentOf(object: KubeObject, format: Format): Record<string, unknown> {
  if (format.metadataOnly) return { metadata: object.metadata };
  const { kind: _, apiVersion: __, ...content } = object;
  return content;
}

/** The body of one object. */
export function encodeObject(collection: Collection, object: KubeObject, format: Format): Buffer {
  return format.encoding === 'json'
    ? Buffer.from(`${jsonObject(collection, object, format)}\n`)
    : unknownObject(collection, object, format);
}

/** The body of a list. */
export function encodeList(
  collection: Collection,
  meta: ListMeta,
  objects: readonly KubeObject[],
  format: Format,
): Buffer {
  const item = typeOf(collection, format);
  const type = { ...item, kind: `${item.kind}List` };
  if (format.encoding === 'protobuf') {
    const writer = new BinaryWriter();
    writer.tag(1, WireType.LengthDelimited).bytes(encodeMessage('ListMeta', meta));
    for (const object of objects) {
      const content = encodeMessage(item.kind, contentOf(object, format));
      writer.tag(2, WireType.LengthDelimited).bytes(content);
    }
    return unknown(type, writer.finish());
  }
  // Items carry no kind and apiVersion, except in a PartialObjectMetadataList.
  const items = objects.map((object) => ({
    ...(format.metadataOnly ? PARTIAL : {}),
    ...contentOf(object, format),
  }));
  return Buffer.from(`${JSON.stringify({ ...type, metadata: meta, items })}\n`);
}

/** One frame of a watch stream. */
export function encodeEvent(
  collection: Collection,
  type: EventType,
  object: KubeObject,
  format: Format,
): Buffer {
  return format.encoding === 'json'
    ? jsonEvent(type, jsonObject(collection, object, format))
    : protobufEvent(type, unknownObject(collection, object, format));
}

/** A BOOKMARK frame; `initialEventsEnd` marks the end of the initial events of a streaming list. */
export function encodeBookmark(
  collection: Collection,
  resourceVersion: string,
  initialEventsEnd: boolean,
  format: Format,
): Buffer {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const metadata = { resourceVersion, ...(initialEventsEnd ? { annotations } : {}) };
  // Unlike every other object, a bookmark has no name.
  const object = { metadata, ...collection.blank } as unknown as KubeObject;
  return encodeEvent(collection, 'BOOKMARK', object, format);
}

/** An ERROR frame, the last of its stream. */
export function encodeErrorEvent(status: KubeStatus, encoding: Format['encoding']): Buffer {
  return encoding === 'json'
    ? jsonEvent('ERROR', JSON.stringify({ ...STATUS, ...status }))
    : protobufEvent('ERROR', encodeStatus(status, encoding));
}

/** The body of a Status. */
export function encodeStatus(status: KubeStatus, encoding: Format['encoding']): Buffer {
  return encoding === 'json'
    ? Buffer.from(`${JSON.stringify({ ...STATUS, ...status })}\n`)
    : unknown(STATUS, encodeMessage('Status', status));
}

function jsonObject(collection: Collection, object: KubeObject, format: Format): string {
  return JSON.stringify({ ...typeOf(collection, format), ...contentOf(object, format) });
}

function jsonEvent(type: string, object: string): Buffer {
  return Buffer.from(`{"type":"${type}","object":${object}}\n`);
}

function unknownObject(collection: Collection, object: KubeObject, format: Format): Buffer {
  const type = typeOf(collection, format);
  return unknown(type, encodeMessage(type.kind, contentOf(object, format)));
}

/** The envelope of every protobuf body: "k8s\0" and a runtime.Unknown (serializer/protobuf/protobuf.go). */
function unknown(type: TypeMeta, raw: Uint8Array): Buffer {
  const writer = new BinaryWriter();
  writer.raw(Buffer.from('k8s\0'));
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(type.apiVersion);
  writer.tag(2, WireType.LengthDelimited).string(type.kind);
  writer.join();
  writer.tag(2, WireType.LengthDelimited).bytes(raw);
  // contentEncoding and contentType, always empty.
  writer.tag(3, WireType.LengthDelimited).string('');
  writer.tag(4, WireType.LengthDelimited).string('');
  return Buffer.from(writer.finish());
}

/** Four bytes of length, then WatchEvent{1 type, 2 RawExtension{1 raw}}. */
function protobufEvent(type: string, raw: Uint8Array): Buffer {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string(type);
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).bytes(raw);
  writer.join();
  const event = writer.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}
