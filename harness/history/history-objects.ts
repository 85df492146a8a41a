import type { KubeObject } from '../api-server/api.ts';
import type { ModelEndpoint, ModelGroup, ModelService, ModelSlice } from './expected-view.ts';

/** Ports of every Service of a history: `port` of its cluster IP leads to `number` of an endpoint. */
export const historyPorts = [
  { name: 'http', port: 80, number: 8080 },
  { name: 'admin', port: 81, number: 8081 },
] as const;

/** Annotation with the number of the write. */
export const SEQ = 'test.kube-proxy-wrapper.io/seq';

type Metadata = KubeObject['metadata'];

export function toService(
  { annotations, labels, local, hints, headless, families, ports, version }: ModelService,
  metadata: Metadata,
  clusterIP: string,
): KubeObject {
  return {
    metadata: { ...metadata, labels, annotations: { ...annotations, [SEQ]: String(version) } },
    spec: {
      type: 'ClusterIP',
      clusterIP: headless ? 'None' : clusterIP,
      ...(families === undefined ? {} : { ipFamilies: families }),
      internalTrafficPolicy: local === 'internal' ? 'Local' : 'Cluster',
      ...(local === 'external' ? { externalTrafficPolicy: 'Local' } : {}),
      ...(hints ? { trafficDistribution: 'PreferSameZone' } : {}),
      ports: ports.map(plainPort).map(({ name, port, number }) => {
        return { name, protocol: 'TCP', port, targetPort: number };
      }),
    },
  };
}

/** @param isHinted each endpoint has hints, which a policy cuts */
export function toSlice(
  { service, family, ports, number, endpoints }: ModelSlice,
  metadata: Metadata,
  isHinted = false,
): KubeObject {
  return {
    metadata: {
      ...metadata,
      labels: {
        'kubernetes.io/service-name': service.split('/')[1] ?? '',
        'endpointslice.kubernetes.io/managed-by': 'test.kube-proxy-wrapper.io',
        ...(service.endsWith('/headless') ? { 'service.kubernetes.io/headless': '' } : {}),
      },
    },
    addressType: family,
    ports: toPorts(ports, number),
    endpoints: endpoints.map(({ address, node, zone, ...state }) => ({
      addresses: [typeof address === 'string' ? address : `${PREFIXES[family]}${address}`],
      conditions: conditionsOf(state),
      ...(node === '' ? {} : { nodeName: node }),
      ...(zone === '' ? {} : { zone }),
      ...(isHinted ? { hints: { forZones: [{ name: 'z1' }] } } : {}),
    })),
  };
}

const PREFIXES = { IPv4: '10.0.0.', IPv6: 'fd00::' } as const;

export function toEndpoints(groups: readonly ModelGroup[], metadata: Metadata): KubeObject {
  const inState = (endpoints: readonly ModelEndpoint[], isReady: boolean) =>
    endpoints
      .filter(({ state }) => (state === 'ready') === isReady)
      .map(({ address, node }) => ({ ip: address, ...(node === '' ? {} : { nodeName: node }) }));
  const subsets = groups.map(({ ports, endpoints }) => ({
    addresses: inState(endpoints, true),
    notReadyAddresses: inState(endpoints, false),
    ports: toPorts(ports, undefined),
  }));
  return { metadata, subsets };
}

function toPorts(ports: readonly string[], given: number | undefined): object[] {
  return ports.map(plainPort).map(({ name, number }) => {
    return { name, port: given ?? number, protocol: 'TCP' };
  });
}

/** A port such as `TCP/http`. */
function plainPort(port: string) {
  const name = port.slice('TCP/'.length);
  return historyPorts.find((each) => each.name === name) ?? { name, port: 80, number: 80 };
}

function conditionsOf(endpoint: Pick<ModelEndpoint, 'state' | 'terminating' | 'unknown'>): object {
  const { state, terminating = state === 'serving', unknown = false } = endpoint;
  return unknown ? {} : { ready: state === 'ready', serving: state !== 'gone', terminating };
}
