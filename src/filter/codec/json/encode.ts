import type { Status } from '../../../errors.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from '../api-conventions.ts';
import type { ChangeType, ObjectBytes } from '../codec.ts';
import type { MessageValue } from '../cursor.ts';
import { malformed } from '../malformed.ts';
import { apiVersion, ENDPOINT_SLICES, type Resource, SERVICES } from '../resource.ts';
import { statusValue } from '../status.ts';
import { CLOSE_OBJECT, JsonText, OPEN_OBJECT } from './json-text.ts';

const COMMA = Buffer.from(',');
const LIST_END = Buffer.from(']}\n');
const LINE_END = Buffer.from('\n');
const EVENT_END = '}\n';

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
  const isEmpty = object[new JsonText(object).skipSpace(1)] === CLOSE_OBJECT;
  const comma = isEmpty ? '' : ',';
  return `${typeMembers(apiVersion(resource), resource.kind)}${comma}`;
}

/** A LIST body; see `Codec.encodeList`. */
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

/** The body of a GET of one object; see `Codec.encodeObject`. */
export function encodeObject(resource: Resource, object: ObjectBytes): Buffer[] {
  return [Buffer.from(objectPrefix(resource, object)), object.subarray(1), LINE_END];
}

/** One frame of a watch stream; see `Codec.encodeEvent`. */
export function encodeEvent(
  resource: Resource,
  type: ChangeType | 'BOOKMARK',
  object: ObjectBytes,
): Buffer {
  return Buffer.concat(encodeEventBuffers(resource, type, object));
}

/** One frame as a list of buffers; see `Codec.encodeEventBuffers`. */
export function encodeEventBuffers(
  resource: Resource,
  type: ChangeType | 'BOOKMARK',
  object: ObjectBytes,
): Buffer[] {
  const prefix = `{"type":"${type}","object":${objectPrefix(resource, object)}`;
  return [Buffer.from(prefix), object.subarray(1), Buffer.from(EVENT_END)];
}

/** A BOOKMARK frame; see `Codec.encodeBookmark`. */
export function encodeBookmark(
  resource: Resource,
  resourceVersion: string,
  initialEventsEnd: boolean,
): Buffer {
  const annotations = initialEventsEnd
    ? `,"annotations":{"${INITIAL_EVENTS_END_ANNOTATION}":"true"}`
    : '';
  const metadata = `{"resourceVersion":${JSON.stringify(resourceVersion)}${annotations}}`;
  const rest = BOOKMARK_REST.get(resource.kind) ?? '';
  return encodeEvent(resource, 'BOOKMARK', Buffer.from(`{"metadata":${metadata}${rest}}`));
}

/** Encodes a message; see `Format.encode`. */
export function encodeMessage(value: MessageValue): Buffer {
  return Buffer.from(textOf(value));
}

function textOf(value: MessageValue): string {
  return JSON.stringify(value, (_, each) => (each === '' || each === 0 ? undefined : each));
}

function statusText(status: Status): string {
  return textOf({ kind: 'Status', apiVersion: 'v1', ...statusValue(status) });
}

/** An ERROR frame; see `Codec.encodeErrorEvent`. */
export function encodeErrorEvent(status: Status): Buffer {
  return Buffer.from(`{"type":"ERROR","object":${statusText(status)}${EVENT_END}`);
}

/** A Status as a whole body; see `Codec.encodeStatus`. */
export function encodeStatus(status: Status): Buffer {
  return Buffer.from(`${statusText(status)}\n`);
}
