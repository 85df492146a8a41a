import type { Encoding } from '../../filter/codec/codec.ts';
import { type Fields, fields, isFields, text } from '../../filter/codec/json/fields.ts';
import { parseObject } from '../../filter/codec/json/parse.ts';
import { COLON, scan } from '../../filter/codec/json/scan.ts';
import { malformed } from '../../filter/codec/malformed.ts';
import { hasMagic, MAGIC } from '../../filter/codec/protobuf/envelope.ts';
import { FieldCursor } from '../../filter/codec/protobuf/field-cursor.ts';
import type { EventApiVersion } from '../api/request-info.ts';

/** The fields of an Event that name its source and its object. A field that is not set is empty. */
export interface ReportedEvent {
  kind: string;
  apiVersion: string;
  namespace: string;
  name: string;
  /** reportingController, in core v1 reportingComponent. */
  controller: string;
  /** reportingInstance. */
  instance: string;
  /** source, in events.k8s.io/v1 deprecatedSource. */
  component: string;
  host: string;
  /** The object that the Event is about. */
  readonly regarding: { kind: string; apiVersion: string; namespace: string; name: string };
  /** A field that kube-proxy never sets: `related`, or metadata other than name and namespace. */
  foreign: string;
}

type Part = 'metadata' | 'controller' | 'instance' | 'regarding' | 'source' | 'related';

/** Fields by their name in JSON and their number in protobuf (k8s.io/api events/v1 and core/v1 generated.proto). */
const FIELDS: Readonly<Record<EventApiVersion, readonly (readonly [string, number, Part])[]>> = {
  'events.k8s.io/v1': [
    ['metadata', 1, 'metadata'],
    ['reportingController', 4, 'controller'],
    ['reportingInstance', 5, 'instance'],
    ['regarding', 8, 'regarding'],
    ['related', 9, 'related'],
    ['deprecatedSource', 12, 'source'],
  ],
  v1: [
    ['metadata', 1, 'metadata'],
    ['involvedObject', 2, 'regarding'],
    ['source', 5, 'source'],
    ['related', 13, 'related'],
    ['reportingComponent', 14, 'controller'],
    ['reportingInstance', 15, 'instance'],
  ],
};
const TYPE_META = { 1: 'apiVersion', 2: 'kind' } as const;
const OBJECT_META = { 1: 'name', 3: 'namespace' } as const;
const OBJECT_REFERENCE = { 1: 'kind', 2: 'namespace', 3: 'name', 5: 'apiVersion' } as const;
const EVENT_SOURCE = { 1: 'component', 2: 'host' } as const;
/** `runtime.Unknown` (apimachinery runtime/generated.proto). */
const UNKNOWN = { typeMeta: 1, raw: 2 } as const;

/**
 * Reads the body of a POST of an Event. Throws `Malformed` if it is not an Event, and if two readers could understand
 * it differently: duplicate keys, or field numbers that are not in their shortest form.
 */
export function readEvent(
  body: Buffer,
  encoding: Encoding,
  apiVersion: EventApiVersion,
): ReportedEvent {
  const event: ReportedEvent = {
    ...{ kind: '', apiVersion: '', namespace: '', name: '' },
    ...{ controller: '', instance: '', component: '', host: '', foreign: '' },
    regarding: { kind: '', apiVersion: '', namespace: '', name: '' },
  };
  if (encoding === 'json') readJson(body, apiVersion, event);
  else readProtobuf(body, apiVersion, event);
  return event;
}

function readJson(body: Buffer, apiVersion: EventApiVersion, event: ReportedEvent): void {
  const object = parseUnambiguous(body);
  event.kind = text(object, 'kind');
  event.apiVersion = text(object, 'apiVersion');
  for (const [name, , part] of FIELDS[apiVersion]) {
    if (part === 'controller' || part === 'instance') event[part] = text(object, name);
    else if (part === 'regarding')
      readTexts(fields(object, name), OBJECT_REFERENCE, event.regarding);
    else if (part === 'source') readTexts(fields(object, name), EVENT_SOURCE, event);
    else if (part === 'related') noteForeign(object, name, event);
    else {
      const metadata = fields(object, name);
      const known: readonly string[] = Object.values(OBJECT_META);
      readTexts(metadata, OBJECT_META, event);
      for (const key of Object.keys(metadata)) {
        if (!known.includes(key)) noteForeign(metadata, key, event);
      }
    }
  }
}

/**
 * Parses an object. Throws `Malformed` also for a duplicate key, because Go merges the values and others use the
 * last one.
 */
export function parseUnambiguous(body: Buffer): Fields {
  const object = parseObject(body);
  let members = 0;
  scan(body, (byte) => {
    if (byte === COLON) members++;
  });
  if (members !== countMembers(object)) throw malformed('JSON with a duplicate key', 0);
  return object;
}

function countMembers(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + countMembers(each), 0);
  if (!isFields(value)) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + 1 + countMembers(each), 0);
}

function readTexts<Key extends string>(
  object: Fields,
  keys: Readonly<Record<number, Key>>,
  into: Record<Key, string>,
): void {
  for (const key of Object.values<Key>(keys)) into[key] = text(object, key);
}

/** Records a member as foreign, unless it has the value that encoders write for an unset one. */
function noteForeign(object: Fields, key: string, event: ReportedEvent): void {
  const value = object[key];
  const isUnset = !value || (typeof value === 'object' && Object.keys(value).length === 0);
  if (!isUnset) event.foreign = key;
}

function readProtobuf(body: Buffer, apiVersion: EventApiVersion, event: ReportedEvent): void {
  if (!hasMagic(body)) throw malformed('a body without the prefix of Kubernetes protobuf', 0);
  const envelope = FieldCursor.over(body, MAGIC.length);
  let raw: Buffer | undefined;
  while (nextField(envelope)) {
    if (envelope.field === UNKNOWN.typeMeta) readStrings(envelope.enter(), TYPE_META, event);
    else if (envelope.field === UNKNOWN.raw) {
      envelope.assertMessage();
      raw = body.subarray(envelope.start, envelope.end);
    } else if (!isZero(envelope)) throw envelope.malformed('an envelope with a content encoding');
  }
  if (raw === undefined) throw malformed('a protobuf envelope without an object', 0);
  const parts = new Map(FIELDS[apiVersion].map(([, number, part]) => [number, part]));
  const fields = FieldCursor.over(raw);
  while (nextField(fields)) readPart(fields, parts.get(fields.field), event);
}

/** Reads a part as Go does: the last of several strings wins, and messages are merged. */
function readPart(fields: FieldCursor, part: Part | undefined, event: ReportedEvent): void {
  if (part === 'controller' || part === 'instance') event[part] = fields.text();
  else if (part === 'regarding') readStrings(fields.enter(), OBJECT_REFERENCE, event.regarding);
  else if (part === 'source') readStrings(fields.enter(), EVENT_SOURCE, event);
  else if (part === 'related') event.foreign = 'related';
  else if (part === 'metadata') {
    readStrings(fields.enter(), OBJECT_META, event, (other) => {
      if (!isZero(other)) event.foreign = `metadata, field ${other.field}`;
    });
  }
}

function readStrings<Key extends string>(
  fields: FieldCursor,
  keys: Readonly<Record<number, Key>>,
  into: Record<Key, string>,
  visitOther: (fields: FieldCursor) => void = () => {},
): void {
  while (nextField(fields)) {
    const key = keys[fields.field];
    if (key === undefined) visitOther(fields);
    else into[key] = fields.text();
  }
}

/**
 * Moves to the next field. All fields of an Event and its parts have numbers of one byte. Longer forms are refused,
 * because decoders read them differently.
 */
function nextField(fields: FieldCursor): boolean {
  if (!fields.next()) return false;
  if (fields.valueStart - fields.fieldStart === 1) return true;
  throw fields.malformed('a field that an Event of kube-proxy does not have');
}

/** Whether a field has the value that encoders write for an unset one. */
function isZero(fields: FieldCursor): boolean {
  return fields.wireType === 0 ? !fields.bool() : fields.start === fields.end;
}
