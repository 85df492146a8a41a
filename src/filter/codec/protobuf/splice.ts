import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Edit, EndpointsEdit, ObjectBytes } from '../codec.ts';
import { KeepMask } from '../keep-mask.ts';
import { Patch } from '../patch.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../resource.ts';
import { SUBSET, SUBSETS } from './endpoints-facts.ts';
import { FieldCursor } from './field-cursor.ts';
import { editMessage, type MessageSpan, textField } from './length-prefix.ts';
import { METADATA, OBJECT_META } from './metadata.ts';
import { cutNoise } from './semantic-bytes.ts';
import { ENDPOINT, SLICE } from './slice-facts.ts';

/** Adds the edits of one top-level field of an object to a patch. */
type FieldEdit = (patch: Patch, field: FieldCursor) => void;

/** Returns a copy of an object with an edit applied; see `Codec.splice`. */
export function splice(resource: Resource, object: ObjectBytes, edit: Edit): ObjectBytes {
  const patch = new Patch();
  const mask = KeepMask.of(edit);
  const editField = endpointsEdit(resource, mask, edit.cutHints === true);
  const version = textField(OBJECT_META.resourceVersion, edit.resourceVersion);
  let placed = false;
  let firstMetadata: MessageSpan | undefined;
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field === METADATA) {
      firstMetadata ??= { valueStart: fields.valueStart, start: fields.start, end: fields.end };
      editMessage(patch, fields, () => {
        placed = replaceVersion(patch, fields.enter(), version, placed);
      });
    } else {
      editField?.(patch, fields);
    }
  }
  if (!placed) insertVersion(patch, firstMetadata, version);
  if (editField !== undefined) mask.finish();
  return patch.apply(object);
}

/** The semantic bytes of an edited object; see `Codec.semanticBytesAfter`. */
export function semanticBytesAfter(
  resource: Resource,
  object: ObjectBytes,
  edit: EndpointsEdit,
): Buffer {
  const patch = new Patch();
  const mask = KeepMask.of(edit);
  const editField = endpointsEdit(resource, mask, edit.cutHints === true);
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field === METADATA) cutNoise(patch, fields);
    else editField?.(patch, fields);
  }
  if (editField !== undefined) mask.finish();
  return patch.applyTransient(object);
}

/**
 * Replaces the first old version by the new one and cuts all others. If a field occurs more than once, a decoder
 * takes the last. Returns whether the new version is in the patch.
 */
function replaceVersion(
  patch: Patch,
  metadata: FieldCursor,
  version: Uint8Array,
  placedBefore: boolean,
): boolean {
  let placed = placedBefore;
  while (metadata.next()) {
    if (metadata.field !== OBJECT_META.resourceVersion) continue;
    if (placed) patch.cut(metadata.fieldStart, metadata.end);
    else patch.replace(metadata.fieldStart, metadata.end, version);
    placed = true;
  }
  return placed;
}

function insertVersion(patch: Patch, metadata: MessageSpan | undefined, version: Uint8Array): void {
  if (metadata === undefined) {
    const field = new BinaryWriter().tag(METADATA, WireType.LengthDelimited).bytes(version);
    patch.replace(0, 0, field.finish());
  } else {
    editMessage(patch, metadata, () => patch.replace(metadata.end, metadata.end, version));
  }
}

/** The edit of endpoints; undefined when only the version changes. */
function endpointsEdit(
  resource: Resource,
  mask: KeepMask,
  cutHints: boolean,
): FieldEdit | undefined {
  if (resource.kind === ENDPOINT_SLICES.kind && (mask.cuts || cutHints)) {
    return (patch, field) => {
      if (field.field === SLICE.endpoints) editEndpoint(patch, field, mask.takeOne(), cutHints);
    };
  }
  if (resource.kind === ENDPOINTS.kind && mask.cuts) {
    return (patch, field) => {
      if (field.field === SUBSETS) editSubset(patch, field, mask);
    };
  }
  return undefined;
}

function editEndpoint(patch: Patch, field: FieldCursor, stays: boolean, cutHints: boolean): void {
  if (!stays) {
    patch.cut(field.fieldStart, field.end);
  } else if (cutHints) {
    editMessage(patch, field, () => {
      const endpoint = field.enter();
      while (endpoint.next()) {
        if (endpoint.field === ENDPOINT.hints) patch.cut(endpoint.fieldStart, endpoint.end);
      }
    });
  }
}

function editSubset(patch: Patch, field: FieldCursor, mask: KeepMask): void {
  const addresses = countFields(field.enter(), SUBSET.addresses);
  const notReady = countFields(field.enter(), SUBSET.notReadyAddresses);
  const keep = mask.take(addresses + notReady);
  if (keep === undefined) return;
  if (!keep.includes(1)) {
    patch.cut(field.fieldStart, field.end);
    return;
  }
  editMessage(patch, field, () => {
    // The facts have all ready addresses before the others, in whatever order they are on the wire.
    let ready = 0;
    let other = addresses;
    const subset = field.enter();
    while (subset.next()) {
      const stays =
        (subset.field !== SUBSET.addresses || keep[ready++] !== 0) &&
        (subset.field !== SUBSET.notReadyAddresses || keep[other++] !== 0);
      if (!stays) patch.cut(subset.fieldStart, subset.end);
    }
  });
}

function countFields(message: FieldCursor, field: number): number {
  let count = 0;
  while (message.next()) if (message.field === field) count++;
  return count;
}
