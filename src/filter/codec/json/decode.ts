import { type Status, WrapperError } from '../../../errors.ts';
import { concat } from '../buffer-list.ts';
import type { ObjectBytes, RawEvent, RawList } from '../codec.ts';
import { MAX_JSON_COMMAS } from '../element-limit.ts';
import { malformed, tooManyObjects } from '../malformed.ts';
import { readMessage } from '../read-message.ts';
import { LIST_META, many, message, one, STATUS, TABLE, text } from '../schema.ts';
import { readStatus } from '../status.ts';
import { toEvent } from '../watch-decoder.ts';
import { JsonCursor } from './json-cursor.ts';
import { JsonEditor } from './json-editor.ts';
import { COMMA, OPEN_OBJECT } from './json-text.ts';

const WHITESPACE = Buffer.from(' \t\r');
const NEWLINE = 0x0a;
const SPACE = 0x20;

/** What an object as a whole has, and one without it. JSON has no field numbers. */
const TYPE = message({ kind: text(0), apiVersion: text(0) });
const LIST = message({ kind: text(0), metadata: one(0, LIST_META), items: many(0, TYPE) });
const EVENT = message({ type: text(0), object: one(0, TYPE) });

/** Decodes the body of a LIST; see `Codec.decodeList`. */
export function decodeList(
  buffers: readonly Buffer[],
  maxItems = Number.POSITIVE_INFINITY,
): RawList {
  const body = concat(buffers);
  let kind = '';
  let version = { resourceVersion: '', continue: '' };
  const items: ObjectBytes[] = [];
  const list = JsonCursor.over(body, LIST);
  while (list.next()) {
    switch (list.field) {
      case LIST.kind:
        kind = list.text();
        break;
      case LIST.metadata:
        version = readMessage(list.enter(), LIST_META);
        break;
      case LIST.items:
        if (items.length >= maxItems) throw tooManyObjects(maxItems);
        items.push(untyped(body, list));
        break;
    }
  }
  if (kind === 'Status') {
    const status = readStatus(JsonCursor.over(body, STATUS));
    throw new WrapperError('Refused', `list refused: ${status.message}`, { status });
  }
  if (!kind.endsWith('List')) throw malformed(`a list of kind '${kind}'`, 0);
  const { resourceVersion, continue: token } = version;
  return { kind, resourceVersion, continue: token, items };
}

/**
 * A copy of the object that is the current field, without its kind and apiVersion. It is one line, because watches
 * separate objects by newlines.
 */
function untyped(bytes: Buffer, field: JsonCursor): ObjectBytes {
  const { json, start } = field;
  if (bytes[start] !== OPEN_OBJECT) throw json.malformed('JSON that is not an object', start);
  const object = new JsonEditor(bytes).copy(field, () => 'cut');
  if (object.length > MAX_JSON_COMMAS && commas(object) > MAX_JSON_COMMAS) {
    throw json.malformed(`JSON of more than ${MAX_JSON_COMMAS} values`, start);
  }
  // Within a string a newline is escaped.
  for (let at = object.indexOf(NEWLINE); at >= 0; at = object.indexOf(NEWLINE, at)) {
    object[at] = SPACE;
  }
  return object;
}

function commas(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === COMMA) count++;
  return count;
}

/**
 * Decodes one line of a watch stream; undefined for one without content.
 *
 * @param base offset of the line in the stream
 */
export function decodeEvent(line: Buffer, base: number): RawEvent | undefined {
  if (line.every((byte) => WHITESPACE.includes(byte))) return undefined;
  let type = '';
  let status: Status | undefined;
  let object: ObjectBytes | undefined;
  const event = JsonCursor.over(line, EVENT, base);
  while (event.next()) {
    if (event.field === EVENT.type) type = event.text();
    if (event.field !== EVENT.object) continue;
    if (kindOf(event.enter()) === 'Status') status = readStatus(event.enterAs(STATUS[TABLE]));
    object = untyped(line, event);
  }
  if (object === undefined) throw malformed('a watch event without an object', base);
  return toEvent(type, object, status, base);
}

function kindOf(object: JsonCursor): string {
  let kind = '';
  while (object.next()) if (object.field === TYPE.kind) kind = object.text();
  return kind;
}

/** Reads a Status body; undefined when it is not a Status or does not parse. */
export function decodeStatus(body: Buffer): Status | undefined {
  try {
    const kind = kindOf(JsonCursor.over(body, TYPE));
    return kind === 'Status' ? readStatus(JsonCursor.over(body, STATUS)) : undefined;
  } catch {
    // The body of an error response, perhaps HTML or text. The caller uses its HTTP status instead.
    return undefined;
  }
}
