/** A Kubernetes resource type that this proxy serves as a view. */
export interface Resource {
  /** API group; empty for core. */
  readonly group: string;
  readonly version: string;
  /** Plural name as in the URL, e.g. `endpointslices`. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export const SERVICES: Resource = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};

export const ENDPOINTS: Resource = {
  group: '',
  version: 'v1',
  plural: 'endpoints',
  kind: 'Endpoints',
  namespaced: true,
};

export const ENDPOINT_SLICES: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
};

export const NODES: Resource = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
};

export const SERVICE_CIDRS: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'servicecidrs',
  kind: 'ServiceCIDR',
  namespaced: false,
};

/** Watched for policies, never served as a view. */
export const NAMESPACES: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

/** All resources that are served as views: those that kube-proxy and similar clients watch. */
export const RESOURCES: readonly Resource[] = [
  SERVICES,
  ENDPOINTS,
  ENDPOINT_SLICES,
  NODES,
  SERVICE_CIDRS,
];

/** `apiVersion` as objects carry it: `v1` or `<group>/<version>`. */
export function apiVersion(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}
