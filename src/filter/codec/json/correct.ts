import { addressFamily } from '../api-conventions.ts';
import type { ObjectBytes } from '../codec.ts';
import {
  type CorrectEndpoint,
  correctionOf,
  type EndpointCorrection,
  type EndpointDraft,
  emptyDraft,
} from '../pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../resource.ts';
import { array, bool, type Fields, fields, list, text } from './fields.ts';
import { parseObject, stringify } from './parse.ts';

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
  const parsed = parseObject(object);
  let isChanged = false;
  if (resource.kind === ENDPOINT_SLICES.kind) isChanged = correctSlice(parsed, { node, correct });
  if (resource.kind === ENDPOINTS.kind) isChanged = correctSubsets(parsed, { node, correct });
  return isChanged ? stringify(parsed) : object;
}

/** Returns whether anything has changed. */
function correctSlice(slice: Fields, scope: Scope): boolean {
  const family = text(slice, 'addressType');
  const endpoints = list(slice, 'endpoints');
  const corrections = endpoints.map((endpoint) => {
    return correctionOf(readEndpoint(endpoint), family, scope);
  });
  if (corrections.every((each) => each === undefined)) return false;
  slice.endpoints = endpoints.filter((endpoint, index) => {
    const correction = corrections[index];
    if (correction !== undefined && correction !== 'cut') editEndpoint(endpoint, correction);
    return correction !== 'cut';
  });
  return true;
}

function readEndpoint(endpoint: Fields): EndpointDraft {
  const conditions = fields(endpoint, 'conditions');
  const [first = ''] = array(endpoint, 'addresses');
  return {
    node: text(endpoint, 'nodeName'),
    address: typeof first === 'string' ? first : '',
    ref: readReference(endpoint),
    conditions: {
      ready: bool(conditions, 'ready'),
      serving: bool(conditions, 'serving'),
      terminating: bool(conditions, 'terminating'),
    },
  };
}

function readReference(object: Fields): EndpointDraft['ref'] {
  const ref = fields(object, 'targetRef');
  return {
    kind: text(ref, 'kind'),
    namespace: text(ref, 'namespace'),
    name: text(ref, 'name'),
    uid: text(ref, 'uid'),
  };
}

function editEndpoint(
  endpoint: Fields,
  { address, notReady }: Exclude<EndpointCorrection, 'cut'>,
): void {
  if (address !== undefined) endpoint.addresses = [address];
  if (notReady !== true) return;
  const conditions = fields(endpoint, 'conditions');
  endpoint.conditions = Object.assign(conditions, { ready: false, serving: false });
}

/** Returns whether anything has changed. */
function correctSubsets(object: Fields, scope: Scope): boolean {
  const subsets = list(object, 'subsets');
  const corrected = subsets.map((subset) => correctSubset(subset, scope));
  if (!corrected.includes('changed') && !corrected.includes('empty')) return false;
  // The API does not allow an empty subset.
  object.subsets = subsets.filter((_, index) => corrected[index] !== 'empty');
  return true;
}

function correctSubset(subset: Fields, scope: Scope): 'same' | 'changed' | 'empty' {
  const before = { ready: list(subset, 'addresses'), notReady: list(subset, 'notReadyAddresses') };
  const after: { ready: Fields[]; notReady: Fields[] } = { ready: [], notReady: [] };
  let isChanged = false;
  for (const key of ['ready', 'notReady'] as const) {
    for (const address of before[key]) {
      const correction = correctionOf(readAddress(address, key), familyOf(address), scope);
      if (correction !== undefined) isChanged = true;
      if (correction === 'cut') continue;
      if (correction?.address !== undefined) address.ip = correction.address;
      after[correction?.notReady === true ? 'notReady' : key].push(address);
    }
  }
  if (!isChanged) return 'same';
  setAddresses(subset, 'addresses', after.ready);
  setAddresses(subset, 'notReadyAddresses', after.notReady);
  return after.ready.length + after.notReady.length === 0 ? 'empty' : 'changed';
}

/** A kube-apiserver omits an empty list. */
function setAddresses(subset: Fields, key: string, addresses: readonly Fields[]): void {
  if (addresses.length > 0) subset[key] = addresses;
  else delete subset[key];
}

function readAddress(address: Fields, key: 'ready' | 'notReady'): EndpointDraft {
  const draft = emptyDraft();
  draft.conditions.ready = key === 'ready';
  return {
    ...draft,
    node: text(address, 'nodeName'),
    address: text(address, 'ip'),
    ref: readReference(address),
  };
}

function familyOf(address: Fields): string {
  return addressFamily(text(address, 'ip'));
}
