import type { KubeObject } from '../api-server/api.ts';
import type { ModelEndpoint, ModelObject, ModelService, ModelState } from './model.ts';

/** Ports of every Service of a history: `port` of its cluster IP leads to `number` of an endpoint. */
export const historyPorts = [
  { name: 'http', port: 80, number: 8080 },
  { name: 'admin', port: 81, number: 8081 },
] as const;

/** Annotation with the number of the write. */
export const SEQ = 'test.kube-proxy-wrapper.io/seq';

export function toService(name: string, service: ModelService, clusterIP: string): KubeObject {
  const { topologyKeys, headless, internalLocal, seq } = service;
  const ports = historyPorts.map(({ name, port, number }) => ({ name, port, targetPort: number }));
  const annotations = {
    [SEQ]: String(seq),
    ...(topologyKeys === undefined ? {} : { topologyKeys }),
  };
  return {
    metadata: { name, annotations },
    spec: {
      ports,
      clusterIP: headless === true ? 'None' : clusterIP,
      ...(internalLocal === true ? { internalTrafficPolicy: 'Local' } : {}),
    },
  };
}

export function toSlice(name: string, { service, groups, seq }: ModelObject): KubeObject {
  const [{ ports, endpoints } = { ports: [], endpoints: [] }] = groups;
  return {
    metadata: {
      name,
      annotations: { [SEQ]: String(seq) },
      labels: {
        'kubernetes.io/service-name': service.split('/')[1] ?? '',
        'endpointslice.kubernetes.io/managed-by': 'test.kube-proxy-wrapper.io',
        ...(service.endsWith('/headless') ? { 'service.kubernetes.io/headless': '' } : {}),
      },
    },
    addressType: name.endsWith('-c') ? 'IPv6' : 'IPv4',
    ports: toPorts(ports),
    endpoints: endpoints.map(({ address, node, zone, state }) => ({
      addresses: [address],
      conditions: CONDITIONS[state],
      ...(node === undefined ? {} : { nodeName: node }),
      ...(zone === undefined ? {} : { zone }),
    })),
  };
}

export function toEndpoints(name: string, { groups }: ModelObject): KubeObject {
  const toAddress = ({ address, node }: ModelEndpoint) => ({
    ip: address,
    ...(node === undefined ? {} : { nodeName: node }),
  });
  const inState = (endpoints: readonly ModelEndpoint[], state: ModelState) =>
    endpoints.filter((endpoint) => endpoint.state === state).map(toAddress);
  const subsets = groups.map(({ ports, endpoints }) => ({
    addresses: inState(endpoints, 'ready'),
    notReadyAddresses: inState(endpoints, 'notReady'),
    ports: toPorts(ports),
  }));
  return { metadata: { name }, subsets };
}

function toPorts(names: readonly string[]): object[] {
  return historyPorts
    .filter(({ name }) => names.includes(name))
    .map(({ name, number }) => ({ name, port: number, protocol: 'TCP' }));
}

const CONDITIONS: Readonly<Record<ModelState, object>> = {
  ready: { ready: true, serving: true, terminating: false },
  unknown: {},
  serving: { ready: false, serving: true, terminating: true },
  notReady: { ready: false, serving: false, terminating: false },
  ended: { ready: false, serving: false, terminating: true },
};
