import { type Status, WrapperError } from '../../../errors.ts';
import { concat } from '../bytes/buffer-list.ts';
import { malformed } from '../bytes/malformed.ts';
import { toEvent } from '../bytes/watch-decoder.ts';
import type { ObjectBytes, RawEvent, RawList } from '../codec.ts';
import { readMessage } from '../facts/read-message.ts';
import {
  LIST_META,
  type Message,
  message,
  one,
  STATUS,
  TABLE,
  text,
  unreadList,
} from '../facts/schema.ts';
import { readStatus } from '../facts/status.ts';
import { JsonCursor } from './json-cursor.ts';
import { scanJson } from './json-scanner.ts';
import { isObject, type JsonObject, ownedJson, parseObject } from './json-value.ts';

/** What an object as a whole has. JSON has no field numbers. */
const TYPE = message({ kind: text(0) });
const LIST = message({ kind: text(0), metadata: one(0, LIST_META), items: unreadList(0) });
const EVENT = message({ type: text(0), object: one(0, TYPE) });

/** Decodes the body of a LIST; see `Codec.decodeList`. */
export function decodeList(buffers: readonly Buffer[], maxItems?: number): RawList {
  const body = concat(buffers);
  const { start, ends } = scanJson(body, 0, maxItems) ?? { start: 0, ends: [] };
  // The heap holds one item at a time, so the rest is parsed without them.
  const rest = Buffer.concat([body.subarray(0, start), body.subarray(ends.at(-1) ?? start)]);
  const list = parseObject(rest, 0);
  const { kind, metadata } = read(list, LIST, 0);
  if (kind === 'Status') {
    const status = statusOf(list, 0);
    throw new WrapperError('Refused', `list refused: ${status.message}`, { status });
  }
  if (!kind.endsWith('List')) throw malformed(`a list of kind '${kind}'`, 0);
  const items: ObjectBytes[] = [];
  let from = start;
  for (const end of ends) {
    const item = body.subarray(from, end);
    if (ends.length > 1 || !isBlank(item)) items.push(untyped(parseObject(item, from)));
    from = end + 1;
  }
  const { resourceVersion, continue: token } = metadata;
  return { kind, resourceVersion, continue: token, items };
}

/**
 * Decodes one line of a watch stream; undefined for one without content.
 *
 * @param base offset of the line in the stream
 */
export function decodeEvent(line: Buffer, base: number): RawEvent | undefined {
  if (isBlank(line)) return undefined;
  scanJson(line, base);
  const event = parseObject(line, base);
  const {
    type,
    object: { kind },
  } = read(event, EVENT, base);
  const { object } = event;
  if (!isObject(object)) throw malformed('a watch event without an object', base);
  const status = kind === 'Status' ? statusOf(object, base) : undefined;
  return toEvent(type, untyped(object), status, base);
}

/** Reads a Status body; undefined when it is not a Status or does not parse. */
export function decodeStatus(body: Buffer): Status | undefined {
  try {
    scanJson(body);
    const status = parseObject(body, 0);
    return read(status, TYPE, 0).kind === 'Status' ? statusOf(status, 0) : undefined;
  } catch {
    // The body of an error response, perhaps HTML or text. The caller uses its HTTP status instead.
    return undefined;
  }
}

/** The object without its kind and apiVersion, as one line: watches separate objects by newlines. */
function untyped({ kind: _kind, apiVersion: _version, ...object }: JsonObject): ObjectBytes {
  return ownedJson(object);
}

function read<Values>(object: JsonObject, type: Message<Values>, base: number): Values {
  return readMessage(new JsonCursor(object, type[TABLE], base), type);
}

function statusOf(object: JsonObject, base: number): Status {
  return readStatus(new JsonCursor(object, STATUS[TABLE], base));
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte <= 0x20);
}
