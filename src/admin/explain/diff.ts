import { ENDPOINTS } from '../../filter/objects/resource.ts';
import {
  type EndpointsObject,
  fullGroupsOf,
  rawOf,
} from '../../filter/projection/endpoint-index.ts';
import type { View } from '../../filter/view/view.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import { viewOfService } from './explained-service.ts';
import { findService, type ViewHead, viewHead } from './explained-view.ts';
import type { TimeSlice } from './time-slice.ts';

/** What the wrapper changes in one object. */
export interface ObjectDiff {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Whether kube-proxy sees the object. */
  readonly shown: boolean;
  /**
   * A JSON Patch (RFC 6902) from the endpoints of the API server to those that kube-proxy sees. Endpoints are keyed by
   * their first address instead of their position, e.g. `10.0.0.1`, and `10.0.0.1 (2)` for the second with this one.
   * Empty: nothing but the resourceVersion differs.
   */
  readonly patch: readonly JsonPatchOperation[];
}

export interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** The response of /diff/<namespace>/<name>. */
export interface Diff extends ViewHead {
  readonly service: string;
  /** The Service, and its objects in the view of endpoints. */
  readonly objects: readonly ObjectDiff[];
}

/** RFC 6902: the whole object is removed. */
const OBJECT_REMOVED: readonly JsonPatchOperation[] = [{ op: 'remove', path: '' }];

type Compare = (before: object, after: object) => readonly JsonPatchOperation[];

/** An object of the view when the answer began: the view goes on while the answer pauses. */
interface Taken extends Pick<EndpointsObject, 'key' | 'raw' | 'shown'> {
  /** Whether kube-proxy sees it. */
  readonly isSeen: boolean;
}

/**
 * Compares the objects of a Service, as the API server sent them last, with what the view shows of them. Both are in
 * memory, so the API server gets no request. Throws `NotFound` and `NotReady` as /explain does.
 */
export async function diffOf(proxy: ShownState, service: string, slice: TimeSlice): Promise<Diff> {
  const source = viewOfService(proxy, service);
  // Most processes never need it.
  const { default: jsonpatch } = await import('fast-json-patch');
  const { view, projection } = source;
  const objects = projection.inspect(service).objects.map((object) => takenOf(view, object));
  const head = viewHead(proxy, source);
  const services = serviceDiff(proxy, service);
  const endpoints = await endpointsDiffs(view, objects, jsonpatch.compare, slice);
  return { service, ...head, objects: [...services, ...endpoints] };
}

/** A Service is shown unchanged, or hidden. */
function serviceDiff(proxy: ShownState, service: string): ObjectDiff[] {
  const found = findService(proxy, service);
  if (found === undefined) return [];
  const shown = found.source.view.get(service) !== undefined;
  return [{ kind: 'Service', ...nameParts(service), shown, patch: shown ? [] : OBJECT_REMOVED }];
}

function takenOf(view: View, object: EndpointsObject): Taken {
  const { key, shown } = object;
  return { key, shown, raw: rawOf(object, view), isSeen: view.get(key) !== undefined };
}

async function endpointsDiffs(
  view: View,
  objects: readonly Taken[],
  compare: Compare,
  slice: TimeSlice,
): Promise<ObjectDiff[]> {
  const diffs: ObjectDiff[] = [];
  for (const object of objects) {
    const { isSeen: shown } = object;
    const patch = shown
      ? compare(
          changeablePartOf(view, object, undefined),
          changeablePartOf(view, object, object.shown),
        )
      : OBJECT_REMOVED;
    diffs.push({ kind: view.resource.kind, ...nameParts(object.key), shown, patch });
    await slice.pause();
  }
  return diffs;
}

/** What the wrapper may change in an object. @param edit how it was shown; undefined: as the API server has it */
function changeablePartOf(view: View, object: Taken, edit: EndpointsObject['shown']): object {
  let index = 0;
  const all = fullGroupsOf(object, view).map(({ endpoints }) => {
    const byAddress: Record<string, object> = {};
    const counts = new Map<string, number>();
    for (const { addresses, node, zone, state, hinted } of endpoints) {
      const [first = ''] = addresses;
      // A Pod may get the address of one that is still terminating elsewhere.
      const count = (counts.get(first) ?? 0) + 1;
      counts.set(first, count);
      if (edit?.keep?.[index++] === 0) continue;
      const hasHints = hinted && edit?.cutHints !== true;
      byAddress[count === 1 ? first : `${first} (${count})`] = {
        nodeName: node,
        zone,
        state,
        ...(hasHints ? { hints: {} } : {}),
      };
    }
    return byAddress;
  });
  return view.resource === ENDPOINTS ? { subsets: all } : { endpoints: all[0] ?? {} };
}

function nameParts(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
