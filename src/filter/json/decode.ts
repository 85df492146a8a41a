import { type Status, WrapperError } from '../../errors.ts';
import type { ObjectBytes, RawEvent, RawList } from '../codec.ts';
import { malformed, tooManyItems } from '../malformed.ts';
import { Patch } from '../patch.ts';
import { joinPieces } from '../pieces.ts';
import { ItemCuts } from './item-cuts.ts';
import { JsonReader } from './json-reader.ts';
import { readStatus } from './status.ts';

/** Decodes the body of a LIST; see `Codec.decodeList`. */
export function decodeList(
  pieces: readonly Buffer[],
  maxItems = Number.POSITIVE_INFINITY,
): RawList {
  const body = joinPieces(pieces);
  let kind = '';
  let version = { resourceVersion: '', continue: '' };
  let items: ObjectBytes[] = [];
  const reader = new JsonReader(body);
  reader.object(() => {
    if (reader.keyIs('kind')) kind = reader.text();
    else if (reader.keyIs('metadata')) version = readListMeta(reader);
    else if (reader.keyIs('items')) items = readItems(reader, maxItems);
  });
  reader.finish();
  if (kind === 'Status') throw refused(body);
  if (!kind.endsWith('List')) throw malformed(`a list of kind '${kind}'`, 0);
  return { ...version, items };
}

function refused(body: Buffer): WrapperError {
  const status = readStatus(new JsonReader(body));
  if (status === undefined) return malformed('a Status that is none', 0);
  return new WrapperError('Refused', `list refused: ${status.message}`, { status });
}

function readListMeta(reader: JsonReader): { resourceVersion: string; continue: string } {
  const version = { resourceVersion: '', continue: '' };
  reader.object(() => {
    if (reader.keyIs('resourceVersion')) version.resourceVersion = reader.text();
    else if (reader.keyIs('continue')) version.continue = reader.text();
  });
  return version;
}

function readItems(reader: JsonReader, maxItems: number): ObjectBytes[] {
  const items: ObjectBytes[] = [];
  reader.array(() => {
    if (items.length >= maxItems) throw tooManyItems(maxItems);
    const start = reader.pos;
    const patch = cutType(reader);
    const untouched = patch.delta === 0;
    items.push(
      untouched
        ? reader.bytes.subarray(start, reader.pos)
        : patch.apply(reader.bytes, start, reader.pos),
    );
  });
  return items;
}

/** Consumes an object and returns the patch that removes its kind and apiVersion. */
function cutType(reader: JsonReader): Patch {
  if (reader.isNull()) throw reader.malformed('null in place of an object');
  const patch = new Patch();
  const cuts = new ItemCuts(patch);
  reader.object(() => {
    const start = reader.itemStart;
    const stays = !reader.keyIs('kind') && !reader.keyIs('apiVersion');
    reader.skipValue();
    cuts.item(start, reader.pos, stays);
  });
  cuts.close();
  return patch;
}

/**
 * Decodes one line of a watch stream; undefined for one without content.
 *
 * @param base offset of the line in the stream
 */
export function decodeEvent(line: Buffer, base: number): RawEvent | undefined {
  const reader = new JsonReader(line, 0, base);
  if (reader.pos === line.length) return undefined;
  let type = '';
  let start = -1;
  let end = -1;
  let patch: Patch | undefined;
  reader.object(() => {
    if (reader.keyIs('type')) {
      type = reader.text();
    } else if (reader.keyIs('object')) {
      start = reader.pos;
      patch = cutType(reader);
      end = reader.pos;
    }
  });
  reader.finish();
  if (patch === undefined) throw malformed('a watch event without an object', base);
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object: patch.apply(line, start, end) };
    case 'ERROR': {
      const status = readStatus(new JsonReader(line, start, base));
      if (status === undefined) throw malformed('an ERROR event without a Status', base);
      return { type, status };
    }
    default:
      throw malformed(`a watch event of unknown type '${type}'`, base);
  }
}

/** Reads a Status body; undefined when it is none or does not parse. */
export function decodeStatus(body: Buffer): Status | undefined {
  try {
    const reader = new JsonReader(body);
    const status = readStatus(reader);
    reader.finish();
    return status;
  } catch {
    // An answer that is an error anyway, perhaps HTML or text: its HTTP status says enough.
    return undefined;
  }
}
