/**
 * State of an endpoint:
 * - `ready`: kube-proxy sends new connections to it (condition ready is true or absent)
 * - `serving`: not ready, but serving and terminating: kube-proxy's fallback when no endpoint is ready
 * - `notReady`: neither
 */
export type EndpointState = 'ready' | 'serving' | 'notReady';

/** The parts of an endpoint that a decision needs. */
export interface Endpoint {
  /** `IPv4` or `IPv6`. */
  readonly family: string;
  /** Name of its node; empty if the API object does not name one. */
  readonly node: string;
  /** Its zone; empty if the API object does not name one (core Endpoints never do). */
  readonly zone: string;
  readonly state: EndpointState;
}

/** Endpoints that share their ports: a whole EndpointSlice, or one subset of an Endpoints object. */
export interface EndpointGroup {
  /** `<protocol>/<name>` of each port, e.g. `TCP/http` or `TCP/` for an unnamed one. */
  readonly ports: readonly string[];
  readonly endpoints: readonly Endpoint[];
}

/** A port of one address family: endpoints of each are chosen alone. */
export interface FamilyPort {
  /** As in {@link Endpoint}. */
  readonly family: string;
  /** `<protocol>/<name>`, as in {@link EndpointGroup.ports}; empty for a group without ports. */
  readonly port: string;
}

/** Identifies a port among those of a Service. */
export function portId({ family, port }: FamilyPort): string {
  return `${family} ${port}`;
}

/** The port that {@link portId} identifies. */
export function portOf(id: string): FamilyPort {
  const end = id.indexOf(' ');
  return { family: id.slice(0, end), port: id.slice(end + 1) };
}

/** The name of a port in messages. */
export function portLabel({ family, port }: FamilyPort): string {
  return `${family} ${port || 'without port'}`;
}

/** Whether any of these endpoints names a node but no zone. */
export function hasEndpointWithoutZone(groups: readonly EndpointGroup[]): boolean {
  return groups.some(({ endpoints }) => {
    return endpoints.some(({ node, zone }) => node !== '' && zone === '');
  });
}
