import type { ExplainedObject } from '../topology/explain-service.ts';
import type { ObjectBytes } from './codec.ts';
import type { EndpointsObject } from './endpoint-index.ts';
import type { View } from './view.ts';

/**
 * An object of a view as an explanation needs it.
 *
 * @param withAddresses whether these are read from the bytes, which takes longer
 */
export function explainedObject(
  view: View,
  { key, hinted, groups, raw }: EndpointsObject,
  withAddresses: boolean,
): ExplainedObject {
  const name = key.slice(key.indexOf('/') + 1);
  const addresses = withAddresses ? firstAddresses(view, raw) : [];
  // What stands may come from an earlier state of the object, so endpoints are found again by their address.
  let own: readonly string[] | undefined;
  let shown: ReadonlySet<string> | undefined;
  const isShown = (index: number): boolean => {
    own ??= withAddresses ? addresses : firstAddresses(view, raw);
    shown ??= new Set(firstAddresses(view, view.get(key)));
    return shown.has(own[index] ?? '');
  };
  return { name, hinted, groups, addresses, isShown };
}

function firstAddresses({ codec, resource }: View, object: ObjectBytes | undefined): string[] {
  if (object === undefined) return [];
  const groups = codec.addresses(resource, object);
  return groups.flatMap(({ endpoints }) => endpoints.map(([first = '']) => first));
}
