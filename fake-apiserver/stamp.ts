import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { apiVersionOf, type Collection } from './collections.ts';
import { atVersion } from './history.ts';
import { frozenCopy, type KubeObject } from './kube-object.ts';

/** The metadata that only the server sets. */
interface SystemMetadata {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
}

/** `namespace/name`, or `name` for a cluster-scoped object; an absent namespace is `default`. */
export function keyOf(collection: Collection, object: KubeObject): string {
  const { namespace = 'default', name } = object.metadata;
  return collection.namespaced ? `${namespace}/${name}` : name;
}

/** The stored object after a creation. */
export function createdObject(
  collection: Collection,
  object: KubeObject,
  version: number,
): KubeObject {
  return stamped(collection, object, {
    uid: randomUUID(),
    resourceVersion: String(version),
    ...(collection.hasGeneration ? { generation: 1 } : {}),
    // metav1.Time has no fraction of a second.
    creationTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
  });
}

/** The stored object after an update of `previous`. */
export function updatedObject(
  collection: Collection,
  previous: KubeObject,
  object: KubeObject,
  version: number,
): KubeObject {
  const { uid = '', generation, creationTimestamp = '' } = previous.metadata;
  const same = sameContent(previous, object);
  return stamped(collection, object, {
    uid,
    resourceVersion: String(version),
    ...(generation === undefined ? {} : { generation: same ? generation : generation + 1 }),
    creationTimestamp,
  });
}

/** The last content of a deleted object, with the version of the deletion. */
export function deletedObject(previous: KubeObject, version: number): KubeObject {
  return frozenCopy(atVersion(previous, version));
}

/**
 * Whether the generation stays: labels are content, other metadata is not
 * (registry/discovery/endpointslice/strategy.go).
 */
function sameContent(one: KubeObject, other: KubeObject): boolean {
  const content = ({ kind: _, apiVersion: __, metadata, ...rest }: KubeObject) => [
    metadata.labels ?? {},
    rest,
  ];
  // Through JSON, because a member with the value undefined counts as absent.
  return isDeepStrictEqual(plain(content(one)), plain(content(other)));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Kind, apiVersion and metadata come first, in the order in which an API server writes them. */
function stamped(collection: Collection, object: KubeObject, system: SystemMetadata): KubeObject {
  const { kind: _, apiVersion: __, metadata, ...content } = object;
  const { name, namespace = 'default', ...given } = metadata;
  return frozenCopy({
    kind: collection.kind,
    apiVersion: apiVersionOf(collection),
    metadata: {
      name,
      ...(collection.namespaced ? { namespace } : {}),
      ...system,
      ...withoutSystemMetadata(given),
    },
    ...content,
  });
}

function withoutSystemMetadata(given: Record<string, unknown>): Record<string, unknown> {
  const { uid: _, resourceVersion: __, generation: ___, creationTimestamp: ____, ...rest } = given;
  return rest;
}
