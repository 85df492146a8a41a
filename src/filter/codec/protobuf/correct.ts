import { addressFamily } from '../api-conventions.ts';
import type { ObjectBytes } from '../codec.ts';
import { Patch } from '../patch.ts';
import {
  type CorrectEndpoint,
  correctionOf,
  type EndpointCorrection,
  type EndpointDraft,
  emptyDraft,
} from '../pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../resource.ts';
import { ADDRESS, SUBSET, SUBSETS } from './endpoints-facts.ts';
import { FieldCursor } from './field-cursor.ts';
import { editMessage, textField } from './length-prefix.ts';
import { CONDITIONS, ENDPOINT, SLICE } from './slice-facts.ts';

/** Fields of ObjectReference (k8s.io/api core/v1/generated.proto). */
const REFERENCE = { kind: 1, namespace: 2, name: 3, uid: 4 } as const;
/** Conditions with `ready` and `serving` false, and the same as a field of an endpoint. */
const NOT_READY = Buffer.from('08001000', 'hex');
const NOT_READY_FIELD = Buffer.from('120408001000', 'hex');
/** Tag of `notReadyAddresses`, which differs from that of `addresses` in this byte only. */
const NOT_READY_ADDRESS_TAG = Buffer.from('12', 'hex');

/** Which endpoints may change, and how. */
interface Scope {
  readonly node: string;
  readonly correct: CorrectEndpoint;
}

/** Returns the object with single endpoints corrected; see `Codec.correctEndpoints`. */
export function correctEndpoints(
  resource: Resource,
  object: ObjectBytes,
  node: string,
  correct: CorrectEndpoint,
): ObjectBytes {
  const patch = new Patch();
  if (resource.kind === ENDPOINT_SLICES.kind) correctSlice(patch, object, { node, correct });
  if (resource.kind === ENDPOINTS.kind) {
    const fields = FieldCursor.over(object);
    while (fields.next()) {
      if (fields.field === SUBSETS) correctSubset(patch, fields, { node, correct });
    }
  }
  return patch.isEmpty ? object : patch.apply(object);
}

function correctSlice(patch: Patch, object: ObjectBytes, scope: Scope): void {
  // On the wire the endpoints precede the address type.
  const family = addressTypeOf(object);
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    if (fields.field !== SLICE.endpoints) continue;
    const correction = correctionOf(readEndpoint(fields.enter()), family, scope);
    if (correction === 'cut') patch.cut(fields.fieldStart, fields.end);
    else if (correction !== undefined) editEndpoint(patch, fields, correction);
  }
}

function addressTypeOf(object: ObjectBytes): string {
  let family = '';
  const fields = FieldCursor.over(object);
  while (fields.next()) if (fields.field === SLICE.addressType) family = fields.text();
  return family;
}

function readEndpoint(endpoint: FieldCursor): EndpointDraft {
  const draft = emptyDraft();
  while (endpoint.next()) {
    switch (endpoint.field) {
      case ENDPOINT.addresses:
        draft.address ||= endpoint.text();
        break;
      case ENDPOINT.conditions:
        readConditions(endpoint.enter(), draft.conditions);
        break;
      case ENDPOINT.targetRef:
        readReference(endpoint.enter(), draft.ref);
        break;
      case ENDPOINT.nodeName:
        draft.node = endpoint.text();
        break;
    }
  }
  return draft;
}

function readConditions(field: FieldCursor, conditions: EndpointDraft['conditions']): void {
  while (field.next()) {
    if (field.field === CONDITIONS.ready) conditions.ready = field.bool();
    if (field.field === CONDITIONS.serving) conditions.serving = field.bool();
    if (field.field === CONDITIONS.terminating) conditions.terminating = field.bool();
  }
}

function readReference(field: FieldCursor, ref: EndpointDraft['ref']): void {
  while (field.next()) {
    if (field.field === REFERENCE.kind) ref.kind = field.text();
    if (field.field === REFERENCE.namespace) ref.namespace = field.text();
    if (field.field === REFERENCE.name) ref.name = field.text();
    if (field.field === REFERENCE.uid) ref.uid = field.text();
  }
}

type Edit = Exclude<EndpointCorrection, 'cut'>;

function editEndpoint(patch: Patch, field: FieldCursor, { address, notReady }: Edit): void {
  editMessage(patch, field, () => {
    editText(patch, field, ENDPOINT.addresses, address);
    if (notReady !== true) return;
    let hasConditions = false;
    const endpoint = field.enter();
    while (endpoint.next()) {
      if (endpoint.field !== ENDPOINT.conditions) continue;
      hasConditions = true;
      setNotReady(patch, endpoint);
    }
    if (!hasConditions) patch.replace(field.end, field.end, NOT_READY_FIELD);
  });
}

/** Replaces the first text of this number in a message, and cuts the others. Adds it if there is none. */
function editText(
  patch: Patch,
  message: FieldCursor,
  number: number,
  text: string | undefined,
): void {
  if (text === undefined) return;
  let placed = false;
  const fields = message.enter();
  while (fields.next()) {
    if (fields.field !== number) continue;
    if (placed) patch.cut(fields.fieldStart, fields.end);
    else patch.replace(fields.fieldStart, fields.end, textField(number, text));
    placed = true;
  }
  if (!placed) patch.replace(message.start, message.start, textField(number, text));
}

function setNotReady(patch: Patch, conditions: FieldCursor): void {
  editMessage(patch, conditions, () => {
    const fields = conditions.enter();
    while (fields.next()) {
      const isSet = fields.field === CONDITIONS.ready || fields.field === CONDITIONS.serving;
      if (isSet) patch.cut(fields.fieldStart, fields.end);
    }
    patch.replace(conditions.end, conditions.end, NOT_READY);
  });
}

function correctSubset(patch: Patch, field: FieldCursor, scope: Scope): void {
  const corrections = correctionsOf(field.enter(), scope);
  // The API does not allow an empty subset.
  if (corrections.length > 0 && corrections.every((each) => each === 'cut')) {
    patch.cut(field.fieldStart, field.end);
    return;
  }
  if (corrections.every((each) => each === undefined)) return;
  editMessage(patch, field, () => {
    let index = 0;
    const subset = field.enter();
    while (subset.next()) {
      if (!isAddress(subset)) continue;
      const correction = corrections[index++];
      if (correction === 'cut') patch.cut(subset.fieldStart, subset.end);
      else if (correction !== undefined) editAddress(patch, subset, correction);
    }
  });
}

/** One entry for each address of a subset, in the order on the wire. */
function correctionsOf(subset: FieldCursor, scope: Scope): (EndpointCorrection | undefined)[] {
  const corrections: (EndpointCorrection | undefined)[] = [];
  while (subset.next()) {
    if (!isAddress(subset)) continue;
    const draft = readAddress(subset.enter());
    draft.conditions.ready = subset.field === SUBSET.addresses;
    corrections.push(correctionOf(draft, addressFamily(draft.address), scope));
  }
  return corrections;
}

function isAddress({ field }: FieldCursor): boolean {
  return field === SUBSET.addresses || field === SUBSET.notReadyAddresses;
}

function readAddress(address: FieldCursor): EndpointDraft {
  const draft = emptyDraft();
  while (address.next()) {
    if (address.field === ADDRESS.ip) draft.address = address.text();
    if (address.field === ADDRESS.nodeName) draft.node = address.text();
    if (address.field === ADDRESS.targetRef) readReference(address.enter(), draft.ref);
  }
  return draft;
}

function editAddress(patch: Patch, field: FieldCursor, { address, notReady }: Edit): void {
  if (notReady === true && field.field === SUBSET.addresses) {
    patch.replace(field.fieldStart, field.valueStart, NOT_READY_ADDRESS_TAG);
  }
  editMessage(patch, field, () => editText(patch, field, ADDRESS.ip, address));
}
