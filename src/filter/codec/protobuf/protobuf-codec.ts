import type { Status } from '../../../errors.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from '../../objects/api-conventions.ts';
import { readMessage } from '../../objects/read-message.ts';
import { ENDPOINT_SLICES, type Resource, SERVICES } from '../../objects/resource.ts';
import {
  type AnyMessage,
  LIST_META,
  METADATA,
  message,
  OBJECT_META,
  one,
  STATUS,
  TABLE,
  unreadList,
} from '../../objects/schema.ts';
import { readStatus } from '../../objects/status.ts';
import { BufferList } from '../bytes/buffer-list.ts';
import { tooManyObjects } from '../bytes/malformed.ts';
import type { ObjectBytes, RawList } from '../bytes/raw-objects.ts';
import { assertList, Codec, type EventType } from '../codec.ts';
import type { MessageValue } from '../cursor.ts';
import { encodeField, encodeMessage, fieldHead } from './encode.ts';
import {
  bodyHead,
  FrameHeads,
  fieldSpans,
  openEnvelope,
  RUNTIME_UNKNOWN,
  UNKNOWN_TAIL,
} from './envelope.ts';
import { FieldCursor } from './field-cursor.ts';
import { ProtobufWatchDecoder } from './protobuf-watch-decoder.ts';

/** A list of any kind. */
const LIST_MESSAGE = message({ metadata: one(1, LIST_META), items: unreadList(2) });

/** Zero values that a kube-apiserver writes into ObjectMeta before and after resourceVersion. */
const META_BEFORE_VERSION = Buffer.from('0a0012001a0022002a00', 'hex');
const META_AFTER_VERSION = Buffer.from('38004200', 'hex');
/**
 * The zero values after the metadata in a bookmark's object, as a kube-apiserver 1.36 writes them. Other kinds get
 * nothing, which decodes to the same object.
 */
const PROTOBUF_BOOKMARK_REST: ReadonlyMap<string, Buffer> = new Map([
  [ENDPOINT_SLICES.kind, Buffer.from('2200', 'hex')],
  [SERVICES.kind, Buffer.from('12101a0022003a00420052005a00600068001a020a00', 'hex')],
]);

const NO_KINDS: ReadonlySet<string> = new Set();
const NO_BYTES = Buffer.alloc(0);

/** The codec of `application/vnd.kubernetes.protobuf`. */
export class ProtobufCodec extends Codec {
  readonly encoding = 'protobuf';
  readonly #frameHeads = new WeakMap<Resource, FrameHeads>();

  decodeList(buffers: readonly Buffer[], maxItems = Number.POSITIVE_INFINITY): RawList {
    const body = new BufferList(buffers);
    const { kind, start, end } = openEnvelope(body, 0);
    assertList(kind, () => readStatus(FieldCursor.over(body.slice(start, end), STATUS, 0, start)));
    let metadata = { resourceVersion: '', continue: '', selfLink: '' };
    const items: ObjectBytes[] = [];
    for (const span of fieldSpans(body, LIST_MESSAGE, start, end, 0)) {
      const content = body.slice(span.start, span.end);
      if (span.field === LIST_MESSAGE.items) {
        if (items.length >= maxItems) throw tooManyObjects(maxItems);
        items.push(content);
      } else {
        metadata = readMessage(FieldCursor.over(content, LIST_META, 0, span.start), LIST_META);
      }
    }
    return { kind, ...metadata, items, itemKinds: NO_KINDS };
  }

  watchDecoder(maxFrameBytes: number): ProtobufWatchDecoder {
    return new ProtobufWatchDecoder(maxFrameBytes);
  }

  encodeList(resource: Resource, resourceVersion: string, items: readonly Buffer[]): Buffer[] {
    const value = { selfLink: '', resourceVersion, continue: '' };
    const list = [encodeField(LIST_MESSAGE.metadata, value), ...items];
    const size = list.reduce((sum, { length }) => sum + length, 0);
    const head = bodyHead(resource, `${resource.kind}List`);
    return [head, fieldHead(RUNTIME_UNKNOWN.raw.number, size), ...list, UNKNOWN_TAIL];
  }

  encodeObject(resource: Resource, object: ObjectBytes): Buffer[] {
    const { number } = RUNTIME_UNKNOWN.raw;
    return [bodyHead(resource), fieldHead(number, object.length), object, UNKNOWN_TAIL];
  }

  encodeEvent(resource: Resource, type: EventType, object: ObjectBytes): Buffer[] {
    let heads = this.#frameHeads.get(resource);
    if (heads === undefined) {
      heads = new FrameHeads(resource);
      this.#frameHeads.set(resource, heads);
    }
    return [heads.of(type, object.length), object, UNKNOWN_TAIL];
  }

  itemHead(bytes: number): Buffer {
    return fieldHead(LIST_MESSAGE.items.number, bytes);
  }

  protected readStatus(body: Buffer): Status | undefined {
    const { kind, start, end } = openEnvelope(new BufferList([body]), 0);
    if (kind !== 'Status') return undefined;
    return readStatus(FieldCursor.over(body.subarray(start, end), STATUS, 0, start));
  }

  protected bookmark(
    resource: Resource,
    resourceVersion: string,
    initialEventsEnd: boolean,
  ): ObjectBytes {
    const entry = { key: INITIAL_EVENTS_END_ANNOTATION, value: 'true' };
    const metadata = Buffer.concat([
      META_BEFORE_VERSION,
      encodeField(OBJECT_META.resourceVersion, resourceVersion),
      META_AFTER_VERSION,
      initialEventsEnd ? encodeField(OBJECT_META.annotations, entry) : NO_BYTES,
    ]);
    const rest = PROTOBUF_BOOKMARK_REST.get(resource.kind) ?? NO_BYTES;
    return Buffer.concat([encodeField(METADATA, metadata), rest]);
  }

  protected encodeMessage(message: AnyMessage, value: MessageValue): Buffer {
    return encodeMessage(message[TABLE], value);
  }
}
