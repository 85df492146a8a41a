import type { Edit, ObjectBytes } from '../codec.ts';
import { KeepMask } from '../keep-mask.ts';
import { Patch } from '../patch.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../resource.ts';
import { ItemCuts } from './item-cuts.ts';
import { JsonReader } from './json-reader.ts';
import { cutShadowed, findLayout, type Layout, type Span } from './layout.ts';

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Returns a copy of an object with an edit applied; see `Codec.splice`. */
export function splice(resource: Resource, object: ObjectBytes, edit: Edit): ObjectBytes {
  const mask = KeepMask.of(edit);
  const cutHints = edit.cutHints === true;
  const listKey = editedList(resource, mask, cutHints);
  const layout = findLayout(object, listKey);
  if (layout.shadows) return splice(resource, cutShadowed(object, layout, listKey), edit);
  const patch = new Patch();
  placeVersion(object, patch, layout, JSON.stringify(edit.resourceVersion));
  if (layout.list !== undefined) {
    const reader = new JsonReader(object, layout.list.start);
    if (listKey === 'endpoints') editEndpoints(reader, patch, mask, cutHints);
    else editSubsets(reader, patch, mask);
  }
  if (listKey !== undefined) mask.finish();
  return patch.apply(object);
}

/** Key of the list that an edit touches; undefined when only the version changes. */
function editedList(resource: Resource, mask: KeepMask, cutHints: boolean): string | undefined {
  if (resource.kind === ENDPOINT_SLICES.kind && (mask.cuts || cutHints)) return 'endpoints';
  if (resource.kind === ENDPOINTS.kind && mask.cuts) return 'subsets';
  return undefined;
}

function placeVersion(object: Buffer, patch: Patch, layout: Layout, version: string): void {
  const member = `"resourceVersion":${version}`;
  if (layout.version !== undefined) {
    patch.replace(layout.version.start, layout.version.end, Buffer.from(version));
  } else if (layout.metadata === undefined) {
    insertFirst(object, patch, 0, `"metadata":{${member}}`);
  } else if (object[layout.metadata.start] === OPEN_OBJECT) {
    insertFirst(object, patch, layout.metadata.start, member);
  } else {
    patch.replace(layout.metadata.start, layout.metadata.end, Buffer.from(`{${member}}`));
  }
}

/** Adds a member in front of an object's others. */
function insertFirst(object: Buffer, patch: Patch, from: number, member: string): void {
  const at = object.indexOf(OPEN_OBJECT, from) + 1;
  const comma = isEmptyObject(object, at - 1) ? '' : ',';
  patch.replace(at, at, Buffer.from(`${member}${comma}`));
}

/** Whether the object that begins at an offset has no members. */
export function isEmptyObject(object: Buffer, start = 0): boolean {
  let at = start + 1;
  while ((object[at] ?? CLOSE_OBJECT) <= 0x20) at++;
  return object[at] === CLOSE_OBJECT;
}

function editEndpoints(reader: JsonReader, patch: Patch, mask: KeepMask, cutHints: boolean): void {
  const cuts = new ItemCuts(patch);
  reader.array(() => {
    const start = reader.pos;
    const stays = mask.takeOne();
    if (stays && cutHints) cutMember(reader, patch, 'hints');
    else reader.skipValue();
    cuts.item(start, reader.pos, stays);
  });
  cuts.close();
}

function cutMember(reader: JsonReader, patch: Patch, key: string): void {
  const cuts = new ItemCuts(patch);
  reader.object(() => {
    const start = reader.itemStart;
    const stays = !reader.keyIs(key);
    reader.skipValue();
    cuts.item(start, reader.pos, stays);
  });
  cuts.close();
}

/** Where a subset has its addresses, and how many they are. */
interface Addresses extends Span {
  readonly count: number;
}

const NO_ADDRESSES: Addresses = { start: -1, end: -1, count: 0 };

function editSubsets(reader: JsonReader, patch: Patch, mask: KeepMask): void {
  const cuts = new ItemCuts(patch);
  reader.array(() => {
    const start = reader.pos;
    let ready = NO_ADDRESSES;
    let notReady = NO_ADDRESSES;
    reader.object(() => {
      if (reader.keyIs('addresses')) ready = countAddresses(reader);
      else if (reader.keyIs('notReadyAddresses')) notReady = countAddresses(reader);
    });
    const end = reader.pos;
    const keep = mask.take(ready.count + notReady.count);
    const stays = keep === undefined || keep.includes(1);
    if (keep !== undefined && stays) {
      reader.pos = start;
      editSubset(reader, patch, [
        { ...ready, keep: keep.subarray(0, ready.count) },
        { ...notReady, keep: keep.subarray(ready.count) },
      ]);
    }
    cuts.item(start, end, stays);
  });
  cuts.close();
}

function countAddresses(reader: JsonReader): Addresses {
  const start = reader.pos;
  let count = 0;
  reader.array(() => {
    count++;
  });
  return { start, end: reader.pos, count };
}

function editSubset(
  reader: JsonReader,
  patch: Patch,
  lists: readonly (Addresses & { readonly keep: Uint8Array })[],
): void {
  const members = new ItemCuts(patch);
  reader.object(() => {
    const start = reader.itemStart;
    const isList = reader.keyIs('addresses') || reader.keyIs('notReadyAddresses');
    const list = lists.find((candidate) => candidate.start === reader.pos);
    if (list === undefined) reader.skipValue();
    else cutElements(reader, patch, list.keep);
    // A list that another one of the same key hides must not come back to life: see cutShadowed().
    members.item(start, reader.pos, !isList || list !== undefined);
  });
  members.close();
}

function cutElements(reader: JsonReader, patch: Patch, keep: Uint8Array): void {
  const cuts = new ItemCuts(patch);
  let index = 0;
  reader.array(() => {
    const start = reader.pos;
    reader.skipValue();
    cuts.item(start, reader.pos, keep[index++] !== 0);
  });
  cuts.close();
}
