/** Annotation of a Service or Namespace that holds its topology keys. */
export const TOPOLOGY_KEYS_ANNOTATION = 'topologyKeys';
/** The same under the prefix of this program. It applies if both are there. */
export const PREFIXED_KEYS_ANNOTATION = 'kube-proxy-wrapper.io/topology-keys';
/**
 * Annotation of a Service, Namespace or Node: `off` switches filtering off. On a Service, `on` overrides its Namespace.
 * Services and Namespaces may also have `dry-run`.
 */
export const FILTER_ANNOTATION = 'kube-proxy-wrapper.io/filter';
/** Annotation of a Service: a JSON object of topology key → ready endpoints that it needs to count. */
export const MIN_READY_ANNOTATION = 'kube-proxy-wrapper.io/min-ready';
