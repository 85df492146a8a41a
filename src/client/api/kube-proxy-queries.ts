import type { WrapperError } from '../../errors.ts';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  NODES,
  SERVICE_CIDRS,
  SERVICES,
} from '../../filter/objects/resource.ts';
import { HEADLESS_LABEL, PROXY_NAME_LABEL } from '../../topology/policy/service-reader.ts';
import { type Query, queryKey } from './query.ts';

/*
 * The queries of the stock kube-proxy of each version (cmd/kube-proxy/app/server.go, Run). There is always room for
 * their views, so the table is short: any process on the node can keep all of them open outside the budget.
 * They are in protobuf, kube-proxy's default. For the views of a kube-proxy that is configured for JSON
 * (clientConnection.contentType) there is room as for any other client's: in JSON the same objects take three times the
 * memory.
 */

const ALL_OBJECTS = {
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  encoding: 'protobuf',
} as const;
const NOT_HEADLESS = `!${HEADLESS_LABEL}`;
const NO_OTHER_PROXY = `!${PROXY_NAME_LABEL}`;
/** Both, in the order in which labels.Selector writes them. */
const NEITHER = `${NOT_HEADLESS},${NO_OTHER_PROXY}`;
const HAS_IP = 'spec.clusterIP!=None';

/** Since 1.36. */
const SERVICES_WITH_IP: Query = {
  ...ALL_OBJECTS,
  resource: SERVICES,
  labelSelector: NO_OTHER_PROXY,
  fieldSelector: HAS_IP,
};
/** From 1.33 to 1.35. Slices have the same selector, because they inherit the labels of their Service. */
const OLDER_SERVICES: Query = { ...SERVICES_WITH_IP, labelSelector: NEITHER };
/** Before 1.33, with the same selector for slices. */
const OLDEST_SERVICES: Query = { ...OLDER_SERVICES, fieldSelector: '' };
/** Of those with the same selector of labels, the newest comes first. */
const SERVICES_QUERIES: readonly Query[] = [OLDER_SERVICES, OLDEST_SERVICES, SERVICES_WITH_IP];
/** Not a query of kube-proxy. The wrapper uses it when policies apply to headless Services too. */
const SERVICES_AND_HEADLESS: Query = { ...SERVICES_WITH_IP, fieldSelector: '' };

/** Since 1.36. */
export const CURRENT_SLICES: Query = {
  ...ALL_OBJECTS,
  resource: ENDPOINT_SLICES,
  labelSelector: NOT_HEADLESS,
};
/** Before 1.36. */
const OLDER_SLICES: Query = { ...CURRENT_SLICES, labelSelector: NEITHER };
/** Up to 1.21, with slices disabled. */
const OLDEST_ENDPOINTS: Query = { ...OLDER_SLICES, resource: ENDPOINTS };
const CIDRS: Query = { ...ALL_OBJECTS, resource: SERVICE_CIDRS };
/** From 1.33 to 1.35, with the selector of all that it reads. */
const OLDER_CIDRS: Query = { ...CIDRS, labelSelector: NEITHER };

/** The query of every kube-proxy for its own Node. */
export function ownNodeQuery(nodeName: string): Query {
  return { ...ALL_OBJECTS, resource: NODES, fieldSelector: `metadata.name=${nodeName}` };
}

/** Whether a query is for endpoints, in either form. */
export function isForEndpoints({ resource }: Query): boolean {
  return resource === ENDPOINT_SLICES || resource === ENDPOINTS;
}

/** All queries of all versions of kube-proxy. */
export function kubeProxyQueries(nodeName: string): readonly Query[] {
  return [
    ownNodeQuery(nodeName),
    CIDRS,
    OLDER_CIDRS,
    CURRENT_SLICES,
    OLDER_SLICES,
    OLDEST_ENDPOINTS,
    ...SERVICES_QUERIES,
  ];
}

/** Returns a function that reports whether a query is one of kube-proxy's. */
export function kubeProxyQueryTest(nodeName: string): (query: Query) => boolean {
  const keys = new Set(kubeProxyQueries(nodeName).map(queryKey));
  return (query) => keys.has(queryKey(query));
}

/**
 * Returns a function that reports whether a query is one of kube-proxy's in any encoding that it can be configured for.
 * In JSON only for Services and endpoints: many clients read a Node or ServiceCIDRs as kube-proxy does.
 */
export function anyKubeProxyQueryTest(nodeName: string): (query: Query) => boolean {
  const isKubeProxys = kubeProxyQueryTest(nodeName);
  return (query) => {
    const isForRules = query.resource === SERVICES || isForEndpoints(query);
    return isKubeProxys(isForRules ? { ...query, encoding: 'protobuf' } : query);
  };
}

/** Returns a function that reports whether a query is one of kube-proxy's or of the wrapper itself. */
export function knownQueryTest(nodeName: string): (query: Query) => boolean {
  const isKubeProxys = kubeProxyQueryTest(nodeName);
  const own = [SERVICES_AND_HEADLESS, ALL_SERVICES].map(queryKey);
  return (query) => isKubeProxys(query) || own.includes(queryKey(query));
}

/** Not a query of kube-proxy: all Services, also those that it does not read. */
export const ALL_SERVICES: Query = { ...ALL_OBJECTS, resource: SERVICES };

/** Whether a query is for endpoints that kube-proxy does not read. */
export function readsHeadless(query: Query): boolean {
  return isForEndpoints(query) && !query.labelSelector.split(',').includes(NOT_HEADLESS);
}

/** The queries of the current kube-proxy. They are the default when it is unknown what clients read. */
export function currentKubeProxyQueries(nodeName: string): Query[] {
  return [ownNodeQuery(nodeName), CURRENT_SLICES, SERVICES_WITH_IP, CIDRS];
}

/**
 * The query for the Services that the wrapper needs beside this query of a client. It is the query that the same
 * kube-proxy uses for Services, so the two share one watch. Undefined if no Services are needed.
 *
 * @param headless whether policies apply to headless Services too
 * @param hides whether Services can be hidden, so that a query for Services needs all of them too
 */
export function servicesBeside(query: Query, headless: boolean, hides: boolean): Query | undefined {
  const { resource, namespace, labelSelector, fieldSelector } = query;
  if (isForEndpoints(query)) {
    if (headless) return SERVICES_AND_HEADLESS;
    return (
      SERVICES_QUERIES.find((each) => each.labelSelector === labelSelector) ?? SERVICES_WITH_IP
    );
  }
  if (resource !== SERVICES) return undefined;
  const same = SERVICES_QUERIES.find(
    (each) => each.labelSelector === labelSelector && each.fieldSelector === fieldSelector,
  );
  const ofKubeProxy = namespace === '' ? same : undefined;
  if (ofKubeProxy === undefined && !hides) return undefined;
  return headless ? SERVICES_AND_HEADLESS : (ofKubeProxy ?? SERVICES_WITH_IP);
}

/**
 * The query for Services to use in place of one that the API server rejects: before Kubernetes 1.31 an API server
 * cannot select Services by their address, and answers 400. Undefined: there is no other, or the rejection has another
 * cause, which may pass.
 */
export function servicesBefore(
  { fieldSelector }: Query,
  { status }: WrapperError,
): Query | undefined {
  return fieldSelector !== '' && status?.code === 400 ? OLDEST_SERVICES : undefined;
}

/** The query for slices of the kube-proxy that has this query for Services. */
export function slicesBeside({ labelSelector }: Query): Query {
  return labelSelector === NEITHER ? OLDER_SLICES : CURRENT_SLICES;
}
