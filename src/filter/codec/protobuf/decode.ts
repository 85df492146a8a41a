import type { Status } from '../../../errors.ts';
import { WrapperError } from '../../../errors.ts';
import { BufferList } from '../bytes/buffer-list.ts';
import { malformed, tooManyObjects } from '../bytes/malformed.ts';
import { ownedCopy } from '../bytes/owned-copy.ts';
import { toEvent } from '../bytes/watch-decoder.ts';
import type { ObjectBytes, RawEvent, RawList } from '../codec.ts';
import { readMessage } from '../facts/read-message.ts';
import { LIST_META, message, one, STATUS, text, unread, unreadList } from '../facts/schema.ts';
import { readStatus } from '../facts/status.ts';
import { openEnvelope } from './envelope.ts';
import { FieldCursor } from './field-cursor.ts';

/** A list of any kind. */
const LIST = message({ metadata: one(1, LIST_META), items: unreadList(2) });
/** A tag and a length are two varints of at most ten bytes. */
const FIELD_HEAD_BYTES = 20;
/** WatchEvent, and the RawExtension that contains its object (apimachinery meta/v1, runtime). */
const RAW_EXTENSION = message({ raw: unread(1) });
const WATCH_EVENT = message({ type: text(1), object: one(2, RAW_EXTENSION) });

/** Decodes the body of a LIST; see `Codec.decodeList`. */
export function decodeList(
  buffers: readonly Buffer[],
  maxItems = Number.POSITIVE_INFINITY,
): RawList {
  const body = new BufferList(buffers);
  const { kind, start, end } = openEnvelope(body, 0);
  if (kind === 'Status') {
    const status = readStatus(FieldCursor.over(body.slice(start, end), STATUS, 0, start));
    throw new WrapperError('Refused', `list refused: ${status.message}`, { status });
  }
  if (!kind.endsWith('List')) throw malformed(`a list of kind '${kind}'`, 0);
  let version = { resourceVersion: '', continue: '' };
  const items: ObjectBytes[] = [];
  for (let at = start; at < end; ) {
    const head = body.slice(at, Math.min(at + FIELD_HEAD_BYTES, end));
    const field = FieldCursor.over(head, LIST, 0, at, end - at);
    field.next();
    if (field.field === LIST.metadata || field.field === LIST.items) {
      field.assertMessage();
      const content = body.slice(at + field.start, at + field.end);
      if (field.field === LIST.items) {
        if (items.length >= maxItems) throw tooManyObjects(maxItems);
        items.push(content);
      } else
        version = readMessage(FieldCursor.over(content, LIST_META, 0, at + field.start), LIST_META);
    }
    at += field.end;
  }
  const { resourceVersion, continue: token } = version;
  return { kind, resourceVersion, continue: token, items };
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
  const fields = FieldCursor.over(frame, WATCH_EVENT, 0, base);
  while (fields.next()) {
    if (fields.field === WATCH_EVENT.type) type = fields.text();
    if (fields.field !== WATCH_EVENT.object) continue;
    const extension = fields.enter();
    while (extension.next()) {
      if (extension.field !== RAW_EXTENSION.raw) continue;
      extension.assertMessage();
      ({ start, end } = extension);
    }
  }
  if (start < 0) throw malformed('a watch event without an object', base);
  const envelope = frame.subarray(start, end);
  const { kind, ...content } = openEnvelope(new BufferList([envelope]), base + start);
  const object = envelope.subarray(content.start, content.end);
  const at = base + start + content.start;
  const status =
    kind === 'Status' ? readStatus(FieldCursor.over(object, STATUS, 0, at)) : undefined;
  return toEvent(type, ownedCopy(object), status, base + start);
}

/** Reads a Status body; undefined when it is not a Status or does not parse. */
export function decodeStatus(body: Buffer): Status | undefined {
  try {
    const { kind, start, end } = openEnvelope(new BufferList([body]), 0);
    if (kind !== 'Status') return undefined;
    return readStatus(FieldCursor.over(body.subarray(start, end), STATUS, 0, start));
  } catch {
    // The body of an error response. The caller uses its HTTP status instead.
    return undefined;
  }
}
