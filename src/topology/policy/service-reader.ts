/** Label of a Service that another proxy serves. Its slices inherit it. */
export const PROXY_NAME_LABEL = 'service.kubernetes.io/service-proxy-name';

/** Label of the slices and Endpoints of a headless Service; the controllers set it. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

type Labels = ReadonlyMap<string, string>;

/** Who uses the endpoints of a Service: kube-proxy or, if it is headless, DNS servers. */
export type ServiceReader = 'kube-proxy' | 'dns';

/**
 * Who uses the endpoints of a Service; undefined: nobody. As kube-proxy selects Services (the queries in
 * cmd/kube-proxy/app/server.go, ShouldSkipService in pkg/proxy/util). A Service that becomes an ExternalName keeps its
 * slices, because the controller leaves them.
 */
export function readerOf(service: {
  readonly labels: Labels;
  /** `spec.type`. */
  readonly type: string;
  /** `spec.clusterIP`. */
  readonly clusterIP: string;
}): ServiceReader | undefined {
  if (service.type === 'ExternalName' || service.labels.has(PROXY_NAME_LABEL)) return undefined;
  return service.clusterIP === 'None' ? 'dns' : 'kube-proxy';
}

/** Whether the reader of a Service uses a slice of it. */
export function readsSlice(reader: ServiceReader | undefined, labels: Labels): boolean {
  return reader === 'dns' || (reader === 'kube-proxy' && !labels.has(HEADLESS_LABEL));
}
