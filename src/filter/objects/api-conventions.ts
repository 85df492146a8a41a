/*
 * What fields of Kubernetes objects mean, for both encodings: well-known labels and annotations, endpoint conditions,
 * address families and port keys.
 */
import type { EndpointState } from '../../topology/decide/endpoint.ts';
import type { PortNumber } from './object-facts.ts';
import type { PORT, ValuesOf } from './schema.ts';

/**
 * The address type of slices with domain names. kube-proxy skips these slices (pkg/proxy/endpointschangetracker.go),
 * and nothing else defines what they mean. So they have no endpoints here, and are shown unchanged.
 */
export const DOMAIN_NAMES = 'FQDN';

/** Label of a slice that names its Service (k8s.io/api discovery/v1 LabelServiceName). */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** Key of the zone in an endpoint's `deprecatedTopology`, where slices converted from v1beta1 keep it. */
export const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Annotation that the endpoint controllers rewrite at each change. Only latency metrics use it. */
export const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';

/** Annotation on the object of the bookmark that ends the initial events of a streaming list (KEP-3157). */
export const INITIAL_EVENTS_END_ANNOTATION = 'k8s.io/initial-events-end';

/** EndpointConditions (discovery/v1). */
type Conditions = Readonly<Record<'ready' | 'serving' | 'terminating', boolean | undefined>>;

/**
 * The state that an endpoint's conditions mean, as in kube-proxy (pkg/proxy/endpointslicecache.go): absent `ready`
 * and `serving` mean true, absent `terminating` means false.
 */
export function endpointState({ ready, serving, terminating }: Conditions): EndpointState {
  if (ready !== false) return 'ready';
  return serving !== false && terminating === true ? 'serving' : 'notReady';
}

/** Address family of a core Endpoints address, which has no field for it. */
export function addressFamily(ip: string): string {
  return ip.includes(':') ? 'IPv6' : 'IPv4';
}

/** Ports with the keys by which decisions compare them. The API defaults an absent protocol to TCP. */
export function portNumbers(ports: readonly ValuesOf<typeof PORT>[]): PortNumber[] {
  return ports.map(({ protocol, name, port }) => ({
    key: `${protocol === '' ? 'TCP' : protocol}/${name}`,
    number: port,
  }));
}
