import type { LabelledObject, ObjectBytes, ObjectMeta } from '../codec.ts';
import { JsonReader } from './json-reader.ts';

/** Metadata that is being read. */
export type MetaDraft = { -readonly [K in keyof ObjectMeta]: ObjectMeta[K] };

/**
 * Consumes the metadata of an object and returns its identity and version. Of a member that occurs twice
 * the last counts, as for any JSON parser.
 *
 * @param visit called at every member that is not returned
 */
export function readMetadata(reader: JsonReader, visit?: () => void): MetaDraft {
  const draft: MetaDraft = { namespace: '', name: '', uid: '', resourceVersion: '' };
  reader.object(() => {
    if (reader.keyIs('name')) draft.name = reader.text();
    else if (reader.keyIs('namespace')) draft.namespace = reader.text();
    else if (reader.keyIs('uid')) draft.uid = reader.text();
    else if (reader.keyIs('resourceVersion')) draft.resourceVersion = reader.text();
    else visit?.();
  });
  return draft;
}

/**
 * Reads an object of which only the identity and some other members matter.
 *
 * @param visit called at every member but the metadata
 * @param visitMetadata called at the metadata, which it consumes
 */
export function readObject(
  reader: JsonReader,
  visit: () => void,
  visitMetadata: () => MetaDraft,
): MetaDraft {
  let meta: MetaDraft = { namespace: '', name: '', uid: '', resourceVersion: '' };
  reader.object(() => {
    if (reader.keyIs('metadata')) meta = visitMetadata();
    else visit();
  });
  reader.finish();
  return meta;
}

/** Reads only the identity and version of an object. */
export function readMeta(object: ObjectBytes): ObjectMeta {
  const reader = new JsonReader(object);
  return readObject(
    reader,
    () => {},
    () => readMetadata(reader),
  );
}

/**
 * Reads metadata with labels and annotations, which every kind has in the same place.
 *
 * @param visit called at every other member of the object
 */
export function readLabelled(
  object: ObjectBytes,
  visit: (reader: JsonReader) => void = () => {},
): LabelledObject {
  const reader = new JsonReader(object);
  let labels = new Map<string, string>();
  let annotations = new Map<string, string>();
  const meta = readObject(
    reader,
    () => visit(reader),
    () => {
      labels = new Map();
      annotations = new Map();
      return readMetadata(reader, () => {
        if (reader.keyIs('labels')) labels = readTexts(reader);
        else if (reader.keyIs('annotations')) annotations = readTexts(reader);
      });
    },
  );
  return { ...meta, labels, annotations };
}

function readTexts(reader: JsonReader): Map<string, string> {
  const texts = new Map<string, string>();
  reader.object(() => {
    texts.set(reader.key(), reader.text());
  });
  return texts;
}
