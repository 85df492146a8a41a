import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Status } from '../../errors.ts';
import type { ChangeType, ObjectBytes } from '../codec.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from '../endpoint-facts.ts';
import { Pieces } from '../pieces.ts';
import { apiVersion, ENDPOINT_SLICES, type Resource, SERVICES } from '../resource.ts';
import { MAGIC } from './envelope.ts';
import { varintSize, writeVarint } from './length-prefix.ts';
import { MAP_ENTRY, METADATA, OBJECT_META } from './metadata.ts';
import { writeStatus } from './status.ts';

/** `runtime.Unknown` ends with its content encoding and content type, both empty. */
const UNKNOWN_TAIL = Buffer.from('1a002200', 'hex');
/** Tags of `Unknown.raw`, `WatchEvent.object`, `RawExtension.raw` and of a list's items. */
const TAG_FIELD_1 = 0x0a;
const TAG_FIELD_2 = 0x12;
const FRAME_HEADER_BYTES = 4;

/** Zero values that an apiserver puts into ObjectMeta before resourceVersion, and after it. */
const META_BEFORE_VERSION = Buffer.from('0a0012001a0022002a00', 'hex');
const META_AFTER_VERSION = Buffer.from('38004200', 'hex');
/**
 * What follows the metadata in a bookmark's object, as an apiserver 1.36 writes it: the zero values of the
 * kind. Kinds not listed get nothing, which decodes to the same object.
 */
const BOOKMARK_REST: ReadonlyMap<string, Buffer> = new Map([
  [ENDPOINT_SLICES.kind, Buffer.from('2200', 'hex')],
  [SERVICES.kind, Buffer.from('12101a0022003a00420052005a00600068001a020a00', 'hex')],
]);

/** Begins a body: magic, type and the tag and length of the object that must follow. */
function bodyPrefix(version: string, kind: string, objectBytes: number): Uint8Array {
  const writer = new BinaryWriter().raw(MAGIC);
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(version);
  writer.tag(2, WireType.LengthDelimited).string(kind);
  return writer.join().tag(2, WireType.LengthDelimited).uint32(objectBytes).finish();
}

/** A LIST body; see `Codec.encodeList`. */
export function encodeList(
  resource: Resource,
  resourceVersion: string,
  items: readonly ObjectBytes[],
): Buffer[] {
  const metadata = new BinaryWriter().tag(METADATA, WireType.LengthDelimited).fork();
  metadata.tag(1, WireType.LengthDelimited).string('');
  metadata.tag(2, WireType.LengthDelimited).string(resourceVersion);
  const listMeta = metadata.tag(3, WireType.LengthDelimited).string('').join().finish();
  let size = listMeta.length;
  for (const item of items) size += 1 + varintSize(item.length) + item.length;
  const pieces = new Pieces();
  pieces.add(bodyPrefix(apiVersion(resource), `${resource.kind}List`, size));
  pieces.add(listMeta);
  for (const item of items) {
    const prefix = Buffer.allocUnsafe(1 + varintSize(item.length));
    prefix[0] = TAG_FIELD_2;
    writeVarint(prefix, 1, item.length);
    pieces.add(prefix);
    pieces.add(item);
  }
  pieces.add(UNKNOWN_TAIL);
  return pieces.finish();
}

/** The body of a GET of one object; see `Codec.encodeObject`. */
export function encodeObject(resource: Resource, object: ObjectBytes): Buffer[] {
  const prefix = bodyPrefix(apiVersion(resource), resource.kind, object.length);
  return [Buffer.from(prefix), object, UNKNOWN_TAIL];
}

/** One frame of a watch stream; see `Codec.encodeEvent`. */
export function encodeEvent(
  resource: Resource,
  type: ChangeType | 'BOOKMARK',
  object: ObjectBytes,
): Buffer {
  return frame(type, apiVersion(resource), resource.kind, object);
}

/** An ERROR frame; see `Codec.encodeErrorEvent`. */
export function encodeErrorEvent(status: Status): Buffer {
  return frame('ERROR', 'v1', 'Status', writeStatus(status));
}

/** A Status as a whole body; see `Codec.encodeStatus`. */
export function encodeStatus(status: Status): Buffer {
  const message = writeStatus(status);
  return Buffer.concat([bodyPrefix('v1', 'Status', message.length), message, UNKNOWN_TAIL]);
}

/** A BOOKMARK frame; see `Codec.encodeBookmark`. */
export function encodeBookmark(
  resource: Resource,
  resourceVersion: string,
  initialEventsEnd: boolean,
): Buffer {
  const writer = new BinaryWriter();
  writer.tag(METADATA, WireType.LengthDelimited).fork().raw(META_BEFORE_VERSION);
  writer.tag(OBJECT_META.resourceVersion, WireType.LengthDelimited).string(resourceVersion);
  writer.raw(META_AFTER_VERSION);
  if (initialEventsEnd) {
    writer.tag(OBJECT_META.annotations, WireType.LengthDelimited).fork();
    writer.tag(MAP_ENTRY.key, WireType.LengthDelimited).string(INITIAL_EVENTS_END_ANNOTATION);
    writer.tag(MAP_ENTRY.value, WireType.LengthDelimited).string('true');
    writer.join();
  }
  const object = writer.join().finish();
  const rest = BOOKMARK_REST.get(resource.kind) ?? Buffer.alloc(0);
  return encodeEvent(resource, 'BOOKMARK', Buffer.concat([object, rest]));
}

/** Sizes are summed from the inside out, so that the object is copied once. */
function frame(type: string, version: string, kind: string, object: Uint8Array): Buffer {
  const prefix = bodyPrefix(version, kind, object.length);
  const raw = prefix.length + object.length + UNKNOWN_TAIL.length;
  const extension = 1 + varintSize(raw) + raw;
  const event = 2 + type.length + 1 + varintSize(extension) + extension;
  const target = Buffer.allocUnsafe(FRAME_HEADER_BYTES + event);
  let at = target.writeUInt32BE(event);
  target[at++] = TAG_FIELD_1;
  at = writeVarint(target, at, type.length);
  at += target.write(type, at, 'latin1');
  target[at++] = TAG_FIELD_2;
  at = writeVarint(target, at, extension);
  target[at++] = TAG_FIELD_1;
  at = writeVarint(target, at, raw);
  target.set(prefix, at);
  target.set(object, at + prefix.length);
  target.set(UNKNOWN_TAIL, at + prefix.length + object.length);
  return target;
}
