import type { Status } from '../../../errors.ts';
import { WrapperError } from '../../../errors.ts';
import { BufferList } from '../buffer-list.ts';
import type { ObjectBytes, RawEvent, RawList } from '../codec.ts';
import { malformed, tooManyItems } from '../malformed.ts';
import { ownedCopy } from '../owned-copy.ts';
import { hasMagic, openEnvelope, openEnvelopeInBuffers } from './envelope.ts';
import { FieldCursor } from './field-cursor.ts';
import { readStatus } from './status.ts';

/** Fields of a list of any kind and of ListMeta (apimachinery meta/v1/generated.proto). */
const LIST = { metadata: 1, items: 2 } as const;
const LIST_META = { resourceVersion: 2, continue: 3 } as const;
/** A tag and a length are two varints of at most ten bytes. */
const FIELD_HEAD_BYTES = 20;
/** Fields of WatchEvent, and of the RawExtension that contains its object. */
const WATCH_EVENT = { type: 1, object: 2 } as const;
const RAW_EXTENSION_RAW = 1;

/** Decodes the body of a LIST; see `Codec.decodeList`. */
export function decodeList(
  buffers: readonly Buffer[],
  maxItems = Number.POSITIVE_INFINITY,
): RawList {
  const body = new BufferList(buffers);
  const { kind, start, end } = openEnvelopeInBuffers(body);
  if (kind === 'Status') {
    const status = readStatus(body.slice(start, end), start);
    throw new WrapperError('Refused', `list refused: ${status.message}`, { status });
  }
  if (!kind.endsWith('List')) throw malformed(`a list of kind '${kind}'`, 0);
  const version = { resourceVersion: '', continue: '' };
  const items: ObjectBytes[] = [];
  for (let at = start; at < end; ) {
    const head = body.slice(at, Math.min(at + FIELD_HEAD_BYTES, end));
    const field = FieldCursor.over(head, 0, at, end - at);
    field.next();
    if (field.field === LIST.metadata || field.field === LIST.items) {
      field.assertMessage();
      const message = body.slice(at + field.start, at + field.end);
      if (field.field === LIST.items) {
        if (items.length >= maxItems) throw tooManyItems(maxItems);
        items.push(message);
      } else readListMeta(FieldCursor.over(message, 0, at + field.start), version);
    }
    at += field.end;
  }
  return { kind, ...version, items };
}

function readListMeta(
  metadata: FieldCursor,
  version: { resourceVersion: string; continue: string },
): void {
  while (metadata.next()) {
    if (metadata.field === LIST_META.resourceVersion) version.resourceVersion = metadata.text();
    if (metadata.field === LIST_META.continue) version.continue = metadata.text();
  }
}

/**
 * Decodes one frame of a watch stream.
 *
 * @param base offset of the frame in the stream
 */
export function decodeEvent(frame: Buffer, base: number): RawEvent {
  let type = '';
  let start = -1;
  let end = -1;
  const fields = FieldCursor.over(frame, 0, base);
  while (fields.next()) {
    if (fields.field === WATCH_EVENT.type) type = fields.text();
    if (fields.field !== WATCH_EVENT.object) continue;
    const extension = fields.enter();
    while (extension.next()) {
      if (extension.field !== RAW_EXTENSION_RAW) continue;
      extension.assertMessage();
      ({ start, end } = extension);
    }
  }
  if (start < 0) throw malformed('a watch event without an object', base);
  return toEvent(type, frame.subarray(start, end), base + start);
}

function toEvent(type: string, object: Buffer, base: number): RawEvent {
  const { kind, start, end } = openEnvelope(object, base);
  const message = object.subarray(start, end);
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object: ownedCopy(message) };
    case 'ERROR':
      if (kind !== 'Status') throw malformed(`an ERROR event of kind '${kind}'`, base);
      return { type, status: readStatus(message, base + start) };
    default:
      throw malformed(`a watch event of unknown type '${type}'`, base);
  }
}

/** Reads a Status body; undefined when it is not a Status or does not parse. */
export function decodeStatus(body: Buffer): Status | undefined {
  if (!hasMagic(body)) return undefined;
  try {
    const { kind, start, end } = openEnvelope(body, 0);
    return kind === 'Status' ? readStatus(body.subarray(start, end), start) : undefined;
  } catch {
    // The body of an error response. The caller uses its HTTP status instead.
    return undefined;
  }
}
