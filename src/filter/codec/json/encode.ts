import { malformed } from '../bytes/malformed.ts';
import type { ObjectBytes } from '../codec.ts';
import type { MessageValue } from '../cursor.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from '../facts/api-conventions.ts';
import { apiVersion, ENDPOINT_SLICES, type Resource, SERVICES } from '../facts/resource.ts';
import type { EventType } from '../format.ts';

const COMMA = Buffer.from(',');
const LIST_END = Buffer.from(']}\n');
const LINE_END = Buffer.from('\n');
const OPEN_OBJECT = 0x7b;
const EVENT_END = Buffer.from('}\n');

/**
 * The zero values after the metadata in a bookmark's object, as a kube-apiserver 1.36 writes them. Other kinds get
 * nothing, which decodes to the same object.
 */
const BOOKMARK_REST: ReadonlyMap<string, string> = new Map([
  [ENDPOINT_SLICES.kind, ',"addressType":"","endpoints":null,"ports":null'],
  [SERVICES.kind, ',"spec":{},"status":{"loadBalancer":{}}'],
]);

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

/** See `Codec.encodeList`. */
export function encodeList(
  resource: Resource,
  resourceVersion: string,
  items: readonly ObjectBytes[],
): Buffer[] {
  const type = typeMembers(apiVersion(resource), `${resource.kind}List`);
  const metadata = `{"resourceVersion":${JSON.stringify(resourceVersion)}}`;
  const buffers: Buffer[] = [Buffer.from(`${type},"metadata":${metadata},"items":[`)];
  items.forEach((item, index) => {
    if (index > 0) buffers.push(COMMA);
    buffers.push(item);
  });
  buffers.push(LIST_END);
  return buffers;
}

/** See `Codec.encodeObject`. */
export function encodeObject(resource: Resource, object: ObjectBytes): Buffer[] {
  return [Buffer.from(objectPrefix(resource, object)), object.subarray(1), LINE_END];
}

/** See `Codec.encodeEvent`. */
export function encodeEvent(resource: Resource, type: EventType, object: ObjectBytes): Buffer[] {
  const prefix = `{"type":"${type}","object":${objectPrefix(resource, object)}`;
  return [Buffer.from(prefix), object.subarray(1), EVENT_END];
}

/** See `Format.bookmark`. */
export function encodeBookmark(
  resource: Resource,
  resourceVersion: string,
  initialEventsEnd: boolean,
): Buffer {
  const annotations = initialEventsEnd
    ? `,"annotations":{"${INITIAL_EVENTS_END_ANNOTATION}":"true"}`
    : '';
  const metadata = `{"resourceVersion":${JSON.stringify(resourceVersion)}${annotations}}`;
  return Buffer.from(`{"metadata":${metadata}${BOOKMARK_REST.get(resource.kind) ?? ''}}`);
}

/** See `Format.encode`. */
export function encodeMessage(value: MessageValue): Buffer {
  const omitEmpty = (_: string, each: unknown) => (each === '' || each === 0 ? undefined : each);
  return Buffer.from(JSON.stringify(value, omitEmpty));
}
