import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  NODES,
  SERVICE_CIDRS,
  SERVICES,
} from '../../filter/codec/resource.ts';
import { type Query, queryKey } from './query.ts';

/*
 * What the stock kube-proxy of each version asks for (cmd/kube-proxy/app/server.go, Run). These queries always
 * have room, so the table is short: everything in it may be held open by anybody on the node at no charge.
 * In protobuf only. That is kube-proxy's default; one that is told to ask for JSON (clientConnection.contentType)
 * is a client like any other, because the same collections in JSON take three times the memory.
 */

const ALL = {
  ...{ namespace: '', labelSelector: '', fieldSelector: '' },
  encoding: 'protobuf',
} as const;
const NOT_HEADLESS = '!service.kubernetes.io/headless';
const NO_OTHER_PROXY = '!service.kubernetes.io/service-proxy-name';
/** Requirements in the order in which labels.Selector writes them. */
const NEITHER = `${NOT_HEADLESS},${NO_OTHER_PROXY}`;
const HAS_IP = 'spec.clusterIP!=None';

/** From 1.35 on. */
const SERVICES_WITH_IP: Query = {
  ...{ ...ALL, resource: SERVICES },
  ...{ labelSelector: NO_OTHER_PROXY, fieldSelector: HAS_IP },
};
/** As in 1.33, with the same labels for slices, which take them over from their Service. */
const OLDER_SERVICES: Query = { ...SERVICES_WITH_IP, labelSelector: NEITHER };
/** Before; its slices are asked for by the same labels too. */
const OLDEST_SERVICES: Query = { ...OLDER_SERVICES, fieldSelector: '' };
/** No kube-proxy asks so: the world does where headless Services are decided about too. */
const SERVICES_AND_HEADLESS: Query = { ...SERVICES_WITH_IP, fieldSelector: '' };

const SLICES: Query = { ...ALL, resource: ENDPOINT_SLICES, labelSelector: NOT_HEADLESS };
const OLDER_SLICES: Query = { ...SLICES, labelSelector: NEITHER };
/** Up to 1.20, and with slices switched off. */
const OLDEST_ENDPOINTS: Query = { ...OLDER_SLICES, resource: ENDPOINTS };
const CIDRS: Query = { ...ALL, resource: SERVICE_CIDRS };

/** How each kube-proxy asks for its own Node. */
export function ownNodeQuery(nodeName: string): Query {
  return { ...ALL, resource: NODES, fieldSelector: `metadata.name=${nodeName}` };
}

/** Every query of every version's kube-proxy. */
export function kubeProxyQueries(nodeName: string): readonly Query[] {
  return [
    ...[ownNodeQuery(nodeName), CIDRS, SLICES, OLDER_SLICES, OLDEST_ENDPOINTS],
    ...[SERVICES_WITH_IP, OLDER_SERVICES, OLDEST_SERVICES],
  ];
}

/** Returns whether a query is one of kube-proxy's own. */
export function kubeProxyQueryTest(nodeName: string): (query: Query) => boolean {
  const keys = new Set(kubeProxyQueries(nodeName).map(queryKey));
  return (query) => keys.has(queryKey(query));
}

/** What the present kube-proxy reads, for when nobody can tell what is read. */
export function currentKubeProxyQueries(nodeName: string): Query[] {
  return [ownNodeQuery(nodeName), SLICES, SERVICES_WITH_IP, CIDRS];
}

/**
 * How the world asks for Services: as the kube-proxy that asks for these endpoints does, so that the two share
 * one watch. Undefined for a question that tells nothing about it and whose answer does not depend on it.
 *
 * @param hides whether some Services are hidden, which depends on what the world knows of them
 */
export function servicesBeside(query: Query, headless: boolean, hides: boolean): Query | undefined {
  const { resource, namespace, labelSelector, fieldSelector, encoding } = query;
  const kinds = headless
    ? [SERVICES_AND_HEADLESS]
    : [OLDER_SERVICES, OLDEST_SERVICES, SERVICES_WITH_IP];
  if (resource === ENDPOINT_SLICES || resource === ENDPOINTS) {
    return kinds.find((kind) => kind.labelSelector === labelSelector) ?? kinds.at(-1);
  }
  if (resource !== SERVICES) return undefined;
  const same = kinds.find(
    (kind) => kind.labelSelector === labelSelector && kind.fieldSelector === fieldSelector,
  );
  if (same !== undefined && namespace === '' && encoding === 'protobuf') return same;
  return hides ? kinds.at(-1) : undefined;
}

/** How the kube-proxy that asks for Services in this way asks for slices. */
export function slicesBeside({ labelSelector }: Query): Query {
  return labelSelector === NEITHER ? OLDER_SLICES : SLICES;
}
