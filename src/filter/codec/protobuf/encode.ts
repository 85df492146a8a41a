import type { ObjectBytes } from '../codec.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from '../facts/api-conventions.ts';
import { apiVersion, ENDPOINT_SLICES, type Resource, SERVICES } from '../facts/resource.ts';
import { LIST_META, MAP_ENTRY, METADATA, OBJECT_META } from '../facts/schema.ts';
import type { EventType } from '../format.ts';
import { MAGIC, TYPE_META, UNKNOWN } from './envelope.ts';
import { encodeField, varintSize, writeVarint } from './length-prefix.ts';
import { encodeMessage } from './message.ts';

/** `runtime.Unknown` ends with its content encoding and content type, both empty. */
const UNKNOWN_TAIL = Buffer.from('1a002200', 'hex');
/** Tags of `Unknown.raw`, `WatchEvent.object`, `RawExtension.raw` and of a list's items. */
const TAG_FIELD_1 = 0x0a;
const TAG_FIELD_2 = 0x12;
const OBJECT_TAG = Buffer.of(TAG_FIELD_2);
const FRAME_HEADER_BYTES = 4;

/** Zero values that a kube-apiserver writes into ObjectMeta before and after resourceVersion. */
const META_BEFORE_VERSION = Buffer.from('0a0012001a0022002a00', 'hex');
const META_AFTER_VERSION = Buffer.from('38004200', 'hex');
/**
 * The zero values after the metadata in a bookmark's object, as a kube-apiserver 1.36 writes them. Other kinds get
 * nothing, which decodes to the same object.
 */
const BOOKMARK_REST: ReadonlyMap<string, Buffer> = new Map([
  [ENDPOINT_SLICES.kind, Buffer.from('2200', 'hex')],
  [SERVICES.kind, Buffer.from('12101a0022003a00420052005a00600068001a020a00', 'hex')],
]);

const NOTHING = Buffer.alloc(0);

/** The beginning of a body: magic, type and the object's tag. The object's length and the object must follow. */
function bodyHead(resource: Resource, kind = resource.kind): Buffer {
  const type = encodeMessage(TYPE_META, { apiVersion: apiVersion(resource), kind });
  return Buffer.concat([MAGIC, encodeField(UNKNOWN.typeMeta.number, type), OBJECT_TAG]);
}

/** Heads by resource. They never change, and 10,000 events need the same one. */
const HEADS = new WeakMap<Resource, Uint8Array>();

function headOf(resource: Resource): Uint8Array {
  const cached = HEADS.get(resource);
  if (cached !== undefined) return cached;
  const head = bodyHead(resource);
  HEADS.set(resource, head);
  return head;
}

/** A head and the object's length. The object must follow. */
function bodyPrefix(head: Uint8Array, objectBytes: number): Buffer {
  const prefix = Buffer.allocUnsafe(head.length + varintSize(objectBytes));
  prefix.set(head);
  writeVarint(prefix, head.length, objectBytes);
  return prefix;
}

/** See `Codec.encodeList`. */
export function encodeList(
  resource: Resource,
  resourceVersion: string,
  items: readonly ObjectBytes[],
): Buffer[] {
  const listMeta = encodeField(
    METADATA.number,
    encodeMessage(LIST_META, { selfLink: '', resourceVersion, continue: '' }),
  );
  let size = listMeta.length;
  for (const item of items) size += 1 + varintSize(item.length) + item.length;
  const buffers: Buffer[] = [
    bodyPrefix(bodyHead(resource, `${resource.kind}List`), size),
    listMeta,
  ];
  // Objects of a kind have similar lengths, so there are few different prefixes.
  const prefixes = new Map<number, Buffer>();
  for (const item of items) {
    const prefix = prefixes.get(item.length) ?? itemPrefix(item.length);
    prefixes.set(item.length, prefix);
    buffers.push(prefix, item);
  }
  buffers.push(UNKNOWN_TAIL);
  return buffers;
}

function itemPrefix(bytes: number): Buffer {
  const prefix = Buffer.allocUnsafe(1 + varintSize(bytes));
  prefix[0] = TAG_FIELD_2;
  writeVarint(prefix, 1, bytes);
  return prefix;
}

/** See `Codec.encodeObject`. */
export function encodeObject(resource: Resource, object: ObjectBytes): Buffer[] {
  return [bodyPrefix(headOf(resource), object.length), object, UNKNOWN_TAIL];
}

/** See `Codec.encodeEvent`. */
export function encodeEvent(resource: Resource, type: EventType, object: ObjectBytes): Buffer[] {
  return [frameHead(type, headOf(resource), object.length), object, UNKNOWN_TAIL];
}

/** See `Format.bookmark`. */
export function encodeBookmark(
  resource: Resource,
  resourceVersion: string,
  initialEventsEnd: boolean,
): Buffer {
  const entry = { key: INITIAL_EVENTS_END_ANNOTATION, value: 'true' };
  const metadata = Buffer.concat([
    META_BEFORE_VERSION,
    encodeField(OBJECT_META.resourceVersion.number, resourceVersion),
    META_AFTER_VERSION,
    initialEventsEnd
      ? encodeField(OBJECT_META.annotations.number, encodeMessage(MAP_ENTRY, entry))
      : NOTHING,
  ]);
  const rest = BOOKMARK_REST.get(resource.kind) ?? NOTHING;
  return Buffer.concat([encodeField(METADATA.number, metadata), rest]);
}

/** The part of a frame before its object. Sizes are summed from the innermost message outwards. */
function frameHead(type: string, head: Uint8Array, objectBytes: number): Buffer {
  const prefix = head.length + varintSize(objectBytes);
  const raw = prefix + objectBytes + UNKNOWN_TAIL.length;
  const extension = 1 + varintSize(raw) + raw;
  const event = 2 + type.length + 1 + varintSize(extension) + extension;
  const target = Buffer.allocUnsafe(FRAME_HEADER_BYTES + event - objectBytes - UNKNOWN_TAIL.length);
  let at = target.writeUInt32BE(event);
  target[at++] = TAG_FIELD_1;
  at = writeVarint(target, at, type.length);
  at += target.write(type, at, 'latin1');
  target[at++] = TAG_FIELD_2;
  at = writeVarint(target, at, extension);
  target[at++] = TAG_FIELD_1;
  at = writeVarint(target, at, raw);
  target.set(head, at);
  writeVarint(target, at + head.length, objectBytes);
  return target;
}
