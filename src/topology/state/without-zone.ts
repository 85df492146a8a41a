import type { EndpointGroup } from '../decide/endpoint.ts';

/** Whether any of these endpoints names a node but no zone. */
export function hasEndpointWithoutZone(groups: readonly EndpointGroup[]): boolean {
  return groups.some(({ endpoints }) => {
    return endpoints.some(({ node, zone }) => node !== '' && zone === '');
  });
}
