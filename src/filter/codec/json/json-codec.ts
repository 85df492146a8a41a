import type { Status } from '../../../errors.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from '../../objects/api-conventions.ts';
import { readMessage } from '../../objects/read-message.ts';
import { apiVersion, ENDPOINT_SLICES, type Resource, SERVICES } from '../../objects/resource.ts';
import {
  type AnyMessage,
  LIST_META,
  message,
  one,
  STATUS,
  text,
  unreadList,
} from '../../objects/schema.ts';
import { readStatus } from '../../objects/status.ts';
import { BufferList } from '../bytes/buffer-list.ts';
import { malformed } from '../bytes/malformed.ts';
import type { ObjectBytes, RawList } from '../bytes/raw-objects.ts';
import { assertList, Codec, type EventType } from '../codec.ts';
import type { MessageValue } from '../cursor.ts';
import { JsonCursor } from './json-cursor.ts';
import { OPEN_OBJECT, scanJson } from './json-scanner.ts';
import { isBlank, parseObject, untypedJson } from './json-value.ts';
import { JsonWatchDecoder } from './json-watch-decoder.ts';

/** What a body as a whole has. JSON has no field numbers. */
const LIST_BODY = message({ kind: text(0), metadata: one(0, LIST_META), items: unreadList(0) });

const ITEM_SEPARATOR = Buffer.from(',');
const LIST_END = Buffer.from(']}\n');
const LINE_END = Buffer.from('\n');
const EVENT_END = Buffer.from('}\n');

/**
 * The zero values after the metadata in a bookmark's object, as a kube-apiserver 1.36 writes them. Other kinds get
 * nothing, which decodes to the same object.
 */
const JSON_BOOKMARK_REST: ReadonlyMap<string, string> = new Map([
  [ENDPOINT_SLICES.kind, ',"addressType":"","endpoints":null,"ports":null'],
  [SERVICES.kind, ',"spec":{},"status":{"loadBalancer":{}}'],
]);

/** The codec of `application/json`. */
export class JsonCodec extends Codec {
  readonly encoding = 'json';

  decodeList(buffers: readonly Buffer[], maxItems?: number): RawList {
    const body = new BufferList(buffers);
    const { start, ends } = scanJson(body, 0, maxItems) ?? { start: 0, ends: [] };
    // The heap holds one item at a time, so the rest is parsed without them.
    const rest = [body.slice(0, start), body.slice(ends.at(-1) ?? start, body.length)];
    const list = parseObject(Buffer.concat(rest), 0);
    const { kind, metadata } = readMessage(JsonCursor.over(list, LIST_BODY), LIST_BODY);
    assertList(kind, () => readStatus(JsonCursor.over(list, STATUS)));
    const items: ObjectBytes[] = [];
    const itemKinds = new Set<string>();
    let from = start;
    for (const end of ends) {
      const item = body.slice(from, end);
      const offset = from;
      from = end + 1;
      if (ends.length === 1 && isBlank(item)) continue;
      const object = parseObject(item, offset);
      if (typeof object.kind === 'string') itemKinds.add(object.kind);
      items.push(untypedJson(object, item));
    }
    return { kind, ...metadata, items, itemKinds };
  }

  watchDecoder(maxFrameBytes: number): JsonWatchDecoder {
    return new JsonWatchDecoder(maxFrameBytes);
  }

  encodeList(resource: Resource, resourceVersion: string, items: readonly Buffer[]): Buffer[] {
    const type = typeMembers(apiVersion(resource), `${resource.kind}List`);
    const metadata = `{"resourceVersion":${JSON.stringify(resourceVersion)}}`;
    return [
      Buffer.from(`${type},"metadata":${metadata},"items":[`),
      // Before the first item there is no separator.
      ...items.map((item, index) => (index === 0 ? item.subarray(ITEM_SEPARATOR.length) : item)),
      LIST_END,
    ];
  }

  encodeObject(resource: Resource, object: ObjectBytes): Buffer[] {
    return [Buffer.from(objectPrefix(resource, object)), object.subarray(1), LINE_END];
  }

  encodeEvent(resource: Resource, type: EventType, object: ObjectBytes): Buffer[] {
    const prefix = `{"type":"${type}","object":${objectPrefix(resource, object)}`;
    return [Buffer.from(prefix), object.subarray(1), EVENT_END];
  }

  itemHead(): Buffer {
    return ITEM_SEPARATOR;
  }

  protected readStatus(body: Buffer): Status | undefined {
    scanJson(new BufferList([body]));
    const status = parseObject(body, 0);
    return status.kind === 'Status' ? readStatus(JsonCursor.over(status, STATUS)) : undefined;
  }

  protected bookmark(
    resource: Resource,
    resourceVersion: string,
    initialEventsEnd: boolean,
  ): ObjectBytes {
    const annotations = initialEventsEnd
      ? `,"annotations":{"${INITIAL_EVENTS_END_ANNOTATION}":"true"}`
      : '';
    const metadata = `{"resourceVersion":${JSON.stringify(resourceVersion)}${annotations}}`;
    return Buffer.from(`{"metadata":${metadata}${JSON_BOOKMARK_REST.get(resource.kind) ?? ''}}`);
  }

  protected encodeMessage(_: AnyMessage, value: MessageValue): Buffer {
    const omitEmpty = (_: string, member: unknown) =>
      member === '' || member === 0 ? undefined : member;
    return Buffer.from(JSON.stringify(value, omitEmpty));
  }
}

/** The beginning of an object: its kind and apiVersion, without a comma after them. */
function typeMembers(version: string, kind: string): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(version)}`;
}

/** The text that replaces an object's opening brace. */
function objectPrefix(resource: Resource, object: ObjectBytes): string {
  if (object[0] !== OPEN_OBJECT) throw malformed('not a JSON object', 0);
  const isEmpty = object.length === '{}'.length;
  return `${typeMembers(apiVersion(resource), resource.kind)}${isEmpty ? '' : ','}`;
}
