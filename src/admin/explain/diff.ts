import jsonpatch from 'fast-json-patch';
import { WrapperError } from '../../errors.ts';
import type { EndpointsFacts } from '../../filter/codec/codec.ts';
import { createJsonCodec } from '../../filter/codec/json/codec.ts';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  type Resource,
  SERVICES,
} from '../../filter/codec/resource.ts';
import { collectionPath } from '../../proxy/api/query.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { readBody } from '../../proxy/upstream/upstream.ts';
import { countEndpoints } from '../../topology/decide/decide.ts';
import type { EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { Steps } from '../../topology/decide/steps.ts';
import { decideAsHeld } from '../../topology/explain/explain-ports.ts';
import { isSubdomain } from '../../topology/policy/label.ts';
import { TimeSlice } from '../time-slice.ts';
import { explainedView, findService } from './explained-view.ts';
import { openViewToExplain } from './open-view.ts';

/** The changes that the wrapper makes to one object. */
export interface ObjectDiff {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Whether kube-proxy sees the object. */
  readonly shown: boolean;
  /**
   * A JSON Patch (RFC 6902) from the object at the API server to the object that kube-proxy sees. Empty: they are
   * equal. Endpoints are keyed by their first address instead of their position.
   */
  readonly patch: readonly JsonPatchOperation[];
}

export interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** The response of /diff/<namespace>/<name>. */
export interface Diff {
  readonly service: string;
  readonly node: string;
  readonly objects: readonly ObjectDiff[];
}

const KINDS: Readonly<Record<string, Resource>> = {
  endpointslice: ENDPOINT_SLICES,
  endpoints: ENDPOINTS,
  service: SERVICES,
};

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Reads the objects of a Service from the API server as JSON, and compares them with what the wrapper shows.
 * Throws `NotFound`, `BadRequest` for an unknown kind or an invalid name, and the errors of the API server.
 */
export async function diffOf(
  proxy: NodeProxy,
  service: string,
  kind: string,
  slice: TimeSlice = new TimeSlice(),
): Promise<Diff> {
  const resource = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (resource === undefined) {
    throw new WrapperError('BadRequest', `kind must be one of ${Object.keys(KINDS).join(', ')}`);
  }
  // The names become parts of a selector and a path, so other characters are refused.
  if (!service.split('/').every(isSubdomain)) {
    throw new WrapperError('BadRequest', `${JSON.stringify(service)} is not a name of a Service`);
  }
  const objects = await readObjects(proxy, resource, service, slice.signal);
  if (objects.length === 0) {
    throw new WrapperError('NotFound', `there is no ${resource.kind} of Service ${service}`);
  }
  await openViewToExplain(proxy, slice.signal);
  const { nodeName } = proxy.topology;
  const diffs =
    resource === SERVICES
      ? serviceDiffs(proxy, objects)
      : await slice.run(endpointsDiffs(proxy, resource, service, objects));
  return { service, node: nodeName, objects: diffs };
}

async function readObjects(
  { upstream }: NodeProxy,
  resource: Resource,
  service: string,
  aborted: AbortSignal | undefined,
): Promise<readonly Buffer[]> {
  const [namespace = '', name = ''] = service.split('/');
  const query =
    resource === ENDPOINT_SLICES
      ? new URLSearchParams({ labelSelector: `kubernetes.io/service-name=${name}` })
      : new URLSearchParams({ fieldSelector: `metadata.name=${name}` });
  const response = await upstream.request({
    method: 'GET',
    path: `${collectionPath(resource, namespace)}?${query}`,
    headers: { accept: 'application/json' },
    signal: AbortSignal.any([AbortSignal.timeout(10_000), ...(aborted ? [aborted] : [])]),
  });
  const body = await readBody(response.body, MAX_BODY_BYTES, response.headers);
  if (response.statusCode !== 200) {
    throw new WrapperError('Refused', `the API server answered ${response.statusCode}`);
  }
  return createJsonCodec().decodeList([body]).items;
}

function serviceDiffs(proxy: NodeProxy, objects: readonly Buffer[]): ObjectDiff[] {
  const codec = createJsonCodec();
  return objects.map((object) => {
    const { namespace, name } = codec.meta(object);
    const key = `${namespace}/${name}`;
    const found = findService(proxy, key);
    const seen = found?.source.view.get(key);
    const version =
      seen === undefined ? undefined : found?.source.view.codec.meta(seen).resourceVersion;
    return diff(SERVICES, object, version === undefined ? undefined : { version, bytes: object });
  });
}

function* endpointsDiffs(
  proxy: NodeProxy,
  resource: Resource,
  service: string,
  objects: readonly Buffer[],
): Steps<ObjectDiff[]> {
  const codec = createJsonCodec();
  const facts: EndpointsFacts[] = [];
  for (const object of objects) {
    facts.push(resource === ENDPOINTS ? codec.endpoints(object) : codec.endpointSlice(object));
    yield;
  }
  const groups = facts.map((each) => each.groups);
  const applied = applyPolicy(proxy, service, groups.flat());
  const versions = facts.map((own) => shownVersion(proxy, resource, own) ?? own.resourceVersion);
  const diffs: ObjectDiff[] = [];
  let offset = 0;
  for (const [index, own] of facts.entries()) {
    const object = objects[index] as Buffer;
    const end = offset + countEndpoints(own.groups);
    const keep = applied.keep?.slice(offset, end);
    offset = end;
    const version = versions[index] ?? own.resourceVersion;
    const edit = { resourceVersion: version, cutHints: keep !== undefined && own.hinted };
    const bytes = codec.splice(resource, object, keep === undefined ? edit : { ...edit, keep });
    diffs.push(diff(resource, object, applied.hidden ? undefined : { version, bytes }));
    yield;
  }
  return diffs;
}

/**
 * Decides again from the current objects of the API server, so that both sides have the same age. Without `keep`
 * all endpoints are shown. Throws `NotReady` while the policy is not in force yet.
 */
function applyPolicy(
  proxy: NodeProxy,
  service: string,
  groups: readonly EndpointGroup[],
): { readonly hidden: boolean; readonly keep?: Uint8Array } {
  const { topology } = proxy;
  const policy = topology.policyInForce(service);
  const isDryRun = policy?.dryRun === true;
  if (
    policy === undefined ||
    (policy.managed && !isDryRun && !topology.canDecide(policy, groups))
  ) {
    const selectors = topology.waitsFor(service).join('; ');
    const what = `${service} waits for the nodes with ${selectors}`;
    throw new WrapperError('NotReady', `${what}; until then the view does not change`);
  }
  if (isDryRun) return { hidden: false };
  if (!policy.managed) return { hidden: policy.reason === 'other-proxy' };
  const { held } = explainedView(proxy).projection.inspect(service);
  const timeOf = (ms: number) => new Date(ms);
  const decision = decideAsHeld({ groups, policy, matches: topology.matches, held, timeOf });
  return { hidden: topology.isCloudOnly(policy, decision), keep: decision.keep };
}

/** The resourceVersion that clients see; undefined: no view of this kind contains the object. */
function shownVersion(
  { views }: NodeProxy,
  resource: Resource,
  { namespace, name }: EndpointsFacts,
): string | undefined {
  for (const { query, view } of views.sources) {
    const object = query.resource === resource ? view.get(`${namespace}/${name}`) : undefined;
    if (object !== undefined) return view.codec.meta(object).resourceVersion;
  }
  return undefined;
}

/** @param after the object in the view; undefined: it is hidden */
function diff(
  resource: Resource,
  before: Buffer,
  after: { readonly version: string; readonly bytes: Buffer } | undefined,
): ObjectDiff {
  const codec = createJsonCodec();
  const { namespace, name } = codec.meta(before);
  const identity = { kind: resource.kind, namespace, name, shown: after !== undefined };
  if (after === undefined) return { ...identity, patch: [{ op: 'remove', path: '' }] };
  const versioned = codec.splice(resource, after.bytes, { resourceVersion: after.version });
  return { ...identity, patch: jsonpatch.compare(keyed(before), keyed(versioned)) };
}

interface KeyedByAddress {
  readonly addresses?: readonly string[];
  readonly ip?: string;
}

/** The object with its endpoints in a mapping by first address. With positions, one removal would change all that follow. */
function keyed(bytes: Buffer): object {
  const object = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  const byAddress = (list: unknown): unknown =>
    Array.isArray(list)
      ? Object.fromEntries(
          list.map((each: KeyedByAddress) => [each.ip ?? each.addresses?.[0] ?? '', each]),
        )
      : list;
  if (Array.isArray(object.endpoints)) return { ...object, endpoints: byAddress(object.endpoints) };
  if (!Array.isArray(object.subsets)) return object;
  const subsets = object.subsets.map((subset: Record<string, unknown>) => ({
    ...subset,
    addresses: byAddress(subset.addresses),
    notReadyAddresses: byAddress(subset.notReadyAddresses),
  }));
  return { ...object, subsets };
}
