import type { ObjectBytes } from '../codec.ts';
import { Patch } from '../patch.ts';
import { ItemCuts } from './item-cuts.ts';
import { JsonReader } from './json-reader.ts';

/** A value in an object. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where in an object the values are that a splice edits. Of a member that occurs twice the last counts. */
export interface Layout {
  readonly metadata: Span | undefined;
  /** `metadata.resourceVersion`. */
  readonly version: Span | undefined;
  /** The endpoints or subsets. */
  readonly list: Span | undefined;
  /** Whether one of these hides an earlier one of the same key. */
  readonly shadows: boolean;
}

/**
 * Finds what a splice edits.
 *
 * @param listKey key of the endpoints or subsets; undefined if they are not to be edited
 */
export function findLayout(object: ObjectBytes, listKey: string | undefined): Layout {
  let metadata: Span | undefined;
  let version: Span | undefined;
  let list: Span | undefined;
  let shadows = false;
  const reader = new JsonReader(object);
  reader.object(() => {
    const start = reader.pos;
    if (reader.keyIs('metadata')) {
      shadows ||= metadata !== undefined;
      version = undefined;
      reader.object(() => {
        if (!reader.keyIs('resourceVersion')) return;
        shadows ||= version !== undefined;
        version = skipSpan(reader);
      });
      metadata = { start, end: reader.pos };
    } else if (listKey !== undefined && reader.keyIs(listKey)) {
      shadows ||= list !== undefined;
      list = skipSpan(reader);
    }
  });
  reader.finish();
  return { metadata, version, list, shadows };
}

function skipSpan(reader: JsonReader): Span {
  const start = reader.pos;
  reader.skipValue();
  return { start, end: reader.pos };
}

/**
 * Removes members that a later one of the same key hides. No apiserver writes such, but a parser that
 * merges objects, as Go's does, would read on from the hidden ones what a splice cut from the last.
 */
export function cutShadowed(
  object: ObjectBytes,
  layout: Layout,
  listKey: string | undefined,
): ObjectBytes {
  const patch = new Patch();
  const cuts = new ItemCuts(patch);
  const reader = new JsonReader(object);
  reader.object(() => {
    const item = reader.itemStart;
    const isMetadata = reader.keyIs('metadata');
    const isList = listKey !== undefined && reader.keyIs(listKey);
    const stays =
      (!isMetadata || reader.pos === layout.metadata?.start) &&
      (!isList || reader.pos === layout.list?.start);
    if (isMetadata && stays) cutShadowedVersion(reader, patch, layout);
    else reader.skipValue();
    cuts.item(item, reader.pos, stays);
  });
  cuts.close();
  return patch.apply(object);
}

function cutShadowedVersion(reader: JsonReader, patch: Patch, layout: Layout): void {
  const cuts = new ItemCuts(patch);
  reader.object(() => {
    const item = reader.itemStart;
    const stays = !reader.keyIs('resourceVersion') || reader.pos === layout.version?.start;
    reader.skipValue();
    cuts.item(item, reader.pos, stays);
  });
  cuts.close();
}
