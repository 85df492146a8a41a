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
  /** Its condition: kube-proxy prefers another endpoint with the same address and port. */
  readonly terminating: boolean;
}

/** Endpoints that share their ports: a whole EndpointSlice, or one subset of an Endpoints object. */
export interface EndpointGroup {
  /** `<protocol>/<name>` of each port, e.g. `TCP/http` or `TCP/` for an unnamed one. */
  readonly ports: readonly string[];
  /** The number of each port, in the order of `ports`. */
  readonly numbers: readonly number[];
  readonly endpoints: readonly Endpoint[];
  /** For each endpoint, a number that stands for its address, see addressNumber. */
  readonly addresses: readonly number[];
}

/** A port of one address family: endpoints of each are chosen alone. */
export interface FamilyPort {
  /** As in {@link Endpoint}. */
  readonly family: string;
  /** `<protocol>/<name>`, as in {@link EndpointGroup.ports}; empty for a group without ports. */
  readonly port: string;
}

/** A slice without ports still has endpoints to decide about: they share a port without a name. */
export const NO_PORTS: readonly string[] = [''];

/** Identifies a port of a Service. */
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

/** The groups of all objects of a Service. */
export function groupsOf(
  objects: readonly { readonly groups: readonly EndpointGroup[] }[],
): readonly EndpointGroup[] {
  const [first] = objects;
  // Nearly all Services have one.
  if (objects.length === 1 && first !== undefined) return first.groups;
  const all: EndpointGroup[] = [];
  for (const { groups } of objects) for (const group of groups) all.push(group);
  return all;
}

/** Number of endpoints in all groups. */
export function countEndpoints(groups: readonly EndpointGroup[]): number {
  let count = 0;
  for (const { endpoints } of groups) count += endpoints.length;
  return count;
}
