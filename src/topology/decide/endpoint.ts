/**
 * What a decision may expect of an endpoint:
 * - `ready`: kube-proxy sends new connections to it (condition ready is true or absent)
 * - `serving`: not ready, but serving and terminating: kube-proxy's fallback when no endpoint is ready
 * - `notReady`: neither
 */
export type EndpointState = 'ready' | 'serving' | 'notReady';

/** An endpoint as far as a decision needs it. */
export interface Endpoint {
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly family: string;
  /** Name of the node it runs on; empty when the API object names none. */
  readonly node: string;
  /** Zone as the API object gives it; empty when it gives none (core Endpoints never do). */
  readonly zone: string;
  readonly state: EndpointState;
}

/**
 * Endpoints that share their ports: the whole of an EndpointSlice, or one subset of an Endpoints object.
 */
export interface EndpointGroup {
  /** `<protocol>/<name>` of each port, e.g. `TCP/http` or `TCP/` for an unnamed one. */
  readonly ports: readonly string[];
  readonly endpoints: readonly Endpoint[];
}
