import type { EndpointsEdit, ObjectBytes } from '../codec.ts';
import { TRIGGER_TIME_ANNOTATION } from '../endpoint-facts.ts';
import { Patch } from '../patch.ts';
import type { Resource } from '../resource.ts';
import { ItemCuts } from './item-cuts.ts';
import { JsonReader } from './json-reader.ts';
import { splice } from './splice.ts';

/** Returns an object without what is no change for a client; see `Codec.significant`. */
export function significant(object: ObjectBytes): Buffer {
  const patch = new Patch();
  const reader = new JsonReader(object);
  reader.object(() => {
    if (reader.keyIs('metadata')) cutNoise(reader, patch);
  });
  reader.finish();
  return patch.applyBriefly(object);
}

/** The same of what an edit makes of an object; see `Codec.significantAfter`. */
export function significantAfter(
  resource: Resource,
  object: ObjectBytes,
  edit: EndpointsEdit,
): Buffer {
  return significant(splice(resource, object, { ...edit, resourceVersion: '0' }));
}

function cutNoise(reader: JsonReader, patch: Patch): void {
  const cuts = new ItemCuts(patch);
  reader.object(() => {
    const start = reader.itemStart;
    let stays: boolean;
    if (reader.keyIs('annotations')) {
      stays = cutAnnotation(reader, patch);
    } else {
      stays = !isNoise(reader);
      reader.skipValue();
    }
    cuts.item(start, reader.pos, stays);
  });
  cuts.close();
}

function isNoise(reader: JsonReader): boolean {
  return (
    reader.keyIs('resourceVersion') || reader.keyIs('generation') || reader.keyIs('managedFields')
  );
}

/** False when no other annotation is left: the member itself must go, for an object may lack it. */
function cutAnnotation(reader: JsonReader, patch: Patch): boolean {
  const start = reader.pos;
  let others = 0;
  reader.object(() => {
    if (!reader.keyIs(TRIGGER_TIME_ANNOTATION)) others++;
  });
  if (others === 0) return false;
  reader.pos = start;
  const cuts = new ItemCuts(patch);
  reader.object(() => {
    const entry = reader.itemStart;
    const stays = !reader.keyIs(TRIGGER_TIME_ANNOTATION);
    reader.skipValue();
    cuts.item(entry, reader.pos, stays);
  });
  cuts.close();
  return true;
}
