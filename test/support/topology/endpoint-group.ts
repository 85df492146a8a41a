import type { Endpoint, EndpointGroup } from '../../../src/topology/decide/endpoint.ts';

let next = 0;

/**
 * A slice, whose ports all have number 8080.
 *
 * @param addresses default: no two endpoints share one
 */
export function groupOf(
  ports: readonly string[],
  endpoints: readonly Endpoint[],
  addresses: readonly number[] = endpoints.map(() => next++),
): EndpointGroup {
  return { ports, numbers: ports.map(() => 8080), endpoints, addresses };
}
