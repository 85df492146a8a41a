import { countEndpoints } from './decide.ts';
import type { EndpointGroup } from './endpoint.ts';
import type { AddressOf } from './endpoint-classes.ts';

/**
 * The addresses of the endpoints of all objects of a Service. Endpoints are stored without addresses, so those of an
 * object are read when one of them is needed.
 *
 * @param addressesOf first address of each endpoint of an object, in the order of its groups, flattened
 */
export function readAddresses<T extends { readonly groups: readonly EndpointGroup[] }>(
  objects: readonly T[],
  addressesOf: (object: T) => readonly string[],
): AddressOf {
  let end = 0;
  const parts = objects.map((object) => {
    const start = end;
    end += countEndpoints(object.groups);
    return { object, start };
  });
  const read = new Map<T, readonly string[]>();
  return (index) => {
    const part = parts.findLast(({ start }) => start <= index);
    if (part === undefined) return '';
    const addresses = read.get(part.object) ?? addressesOf(part.object);
    read.set(part.object, addresses);
    return addresses[index - part.start] ?? '';
  };
}
