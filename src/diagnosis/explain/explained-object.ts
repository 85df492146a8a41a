import type { ObjectBytes } from '../../filter/codec/codec.ts';
import { unnumberedPorts } from '../../filter/objects/endpoint-groups.ts';
import { type EndpointsObject, rawOf } from '../../filter/projection/endpoint-index.ts';
import type { View } from '../../filter/view/view.ts';
import type { ExplainedObject } from './explain-service.ts';
import { sourceClusterOf } from './source-cluster.ts';

/** An object of a view as an explanation needs it. Its bytes are the current ones, and are read only when needed. */
export function explainedObject(view: View, object: EndpointsObject): ExplainedObject {
  const { key, hinted, groups } = object;
  const raw = rawOf(object, view);
  const name = key.slice(key.indexOf('/') + 1);
  const inView = view.get(key);
  // What is shown may have been made from an earlier state of the object, so endpoints are compared by address.
  let own: readonly string[] | undefined;
  let shown: ReadonlySet<string> | undefined;
  const addresses = (): readonly string[] => {
    own ??= firstAddresses(view, raw);
    return own;
  };
  const isShown = (index: number): boolean => {
    shown ??= new Set(firstAddresses(view, inView));
    return shown.has(addresses()[index] ?? '');
  };
  const { codec, resource } = view;
  const unnumbered = () =>
    raw === undefined ? [] : codec.endpointGroups(resource, raw).flatMap(unnumberedPorts);
  const sourceCluster = () => {
    if (raw === undefined) return undefined;
    const { labels, annotations } = codec.partialMetadata(raw);
    return sourceClusterOf(labels, annotations);
  };
  return { name, hinted, groups, addresses, isShown, unnumbered, sourceCluster };
}

/** First address of each endpoint of an object, in the order of its groups, flattened; undefined: none. */
export function firstAddresses(
  { codec, resource }: View,
  object: ObjectBytes | undefined,
): string[] {
  if (object === undefined) return [];
  const groups = codec.endpointGroups(resource, object);
  return groups.flatMap(({ endpoints }) => endpoints.map(({ addresses: [first = ''] }) => first));
}
