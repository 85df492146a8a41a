import { type Status, WrapperError } from '../../../errors.ts';
import { concat } from '../buffer-list.ts';
import type { ObjectBytes, RawEvent, RawList } from '../codec.ts';
import { malformed } from '../malformed.ts';
import { array, type Fields, fields, isFields, text } from './fields.ts';
import { parseObject, stringify } from './parse.ts';
import { splitList } from './split-list.ts';
import { readStatus } from './status.ts';

const WHITESPACE = Buffer.from(' \t\r');

/** Decodes the body of a LIST; see `Codec.decodeList`. */
export function decodeList(
  buffers: readonly Buffer[],
  maxItems = Number.POSITIVE_INFINITY,
): RawList {
  const { envelope, items } = splitList(concat(buffers), maxItems);
  const body = parseObject(envelope);
  const kind = text(body, 'kind');
  if (kind === 'Status') {
    const status = readStatus(body);
    throw new WrapperError('Refused', `list refused: ${status.message}`, { status });
  }
  if (!kind.endsWith('List')) throw malformed(`a list of kind '${kind}'`, 0);
  // The splitter has emptied the envelope's items. If some are left, it emptied another member `items`.
  if (array(body, 'items').length > 0) throw malformed("several members 'items' in a list", 0);
  const isEmpty = !Array.isArray(body.items);
  const metadata = fields(body, 'metadata');
  return {
    kind,
    resourceVersion: text(metadata, 'resourceVersion'),
    continue: text(metadata, 'continue'),
    items: (isEmpty ? [] : items).map(({ bytes, offset }) =>
      encodeUntyped(parseObject(bytes, offset)),
    ),
  };
}

/** Encodes an object without its kind and apiVersion; changes the object. */
function encodeUntyped(object: Fields): ObjectBytes {
  delete object.kind;
  delete object.apiVersion;
  return stringify(object);
}

/**
 * Decodes one line of a watch stream; undefined for one without content.
 *
 * @param base offset of the line in the stream
 */
export function decodeEvent(line: Buffer, base: number): RawEvent | undefined {
  if (isBlank(line)) return undefined;
  const event = parseObject(line, base);
  const { type, object } = event;
  if (!isFields(object)) throw malformed('a watch event without an object', base);
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object: encodeUntyped(object) };
    case 'ERROR':
      if (object.kind !== 'Status') throw malformed('an ERROR event without a Status', base);
      return { type, status: readStatus(object) };
    default:
      throw malformed(`a watch event of unknown type '${String(type)}'`, base);
  }
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => WHITESPACE.includes(byte));
}

/** Reads a Status body; undefined when it is not a Status or does not parse. */
export function decodeStatus(body: Buffer): Status | undefined {
  try {
    const status = parseObject(body);
    return status.kind === 'Status' ? readStatus(status) : undefined;
  } catch {
    // The body of an error response, perhaps HTML or text. The caller uses its HTTP status instead.
    return undefined;
  }
}
