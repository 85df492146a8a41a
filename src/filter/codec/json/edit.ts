import { TRIGGER_TIME_ANNOTATION } from '../api-conventions.ts';
import type { Edit, EndpointsEdit, ObjectBytes } from '../codec.ts';
import { KeepMask } from '../keep-mask.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../resource.ts';
import { array, type Fields, fields, isFields, list } from './fields.ts';
import { parseObject, stringify } from './parse.ts';

/** Returns a copy of an object with an edit applied; see `Codec.splice`. */
export function splice(resource: Resource, object: ObjectBytes, edit: Edit): ObjectBytes {
  const parsed = parseObject(object);
  editEndpoints(resource, parsed, edit);
  const { resourceVersion } = edit;
  parsed.metadata = Object.assign(fields(parsed, 'metadata'), { resourceVersion });
  return stringify(parsed);
}

/** Returns an object without the fields that clients do not act on; see `Codec.semanticBytes`. */
export function semanticBytes(object: ObjectBytes): Buffer {
  return withoutNoise(parseObject(object));
}

/** {@link semanticBytes} of the edited object; see `Codec.semanticBytesAfter`. */
export function semanticBytesAfter(
  resource: Resource,
  object: ObjectBytes,
  edit: EndpointsEdit,
): Buffer {
  const parsed = parseObject(object);
  editEndpoints(resource, parsed, edit);
  return withoutNoise(parsed);
}

function withoutNoise(object: Fields): Buffer {
  const metadata = fields(object, 'metadata');
  delete metadata.resourceVersion;
  delete metadata.generation;
  delete metadata.managedFields;
  const annotations = fields(metadata, 'annotations');
  delete annotations[TRIGGER_TIME_ANNOTATION];
  // Another version of the object may have no annotations at all.
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
  return Buffer.from(JSON.stringify(object));
}

function editEndpoints(resource: Resource, object: Fields, edit: EndpointsEdit): void {
  const mask = KeepMask.of(edit);
  const cutHints = edit.cutHints === true;
  if (resource.kind === ENDPOINT_SLICES.kind && (mask.cuts || cutHints)) {
    keepOnly(object, 'endpoints', () => mask.takeOne());
    if (cutHints) for (const endpoint of list(object, 'endpoints')) delete endpoint.hints;
    mask.finish();
  } else if (resource.kind === ENDPOINTS.kind && mask.cuts) {
    keepOnly(object, 'subsets', (subset) => !isFields(subset) || editSubset(subset, mask));
    mask.finish();
  }
}

/** Cuts addresses of a subset. Returns false if the subset has lost its last address. */
function editSubset(subset: Fields, mask: KeepMask): boolean {
  const keys = ['addresses', 'notReadyAddresses'];
  const count = (): number => keys.reduce((sum, key) => sum + array(subset, key).length, 0);
  const before = count();
  for (const key of keys) keepOnly(subset, key, () => mask.takeOne());
  return before === 0 || count() > 0;
}

/** Filters the array in the member `key`. An absent or null member does not change. */
function keepOnly(object: Fields, key: string, stays: (element: unknown) => boolean): void {
  const before = array(object, key);
  if (before.length > 0) object[key] = before.filter(stays);
}
