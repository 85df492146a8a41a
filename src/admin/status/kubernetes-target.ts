import { completeView } from '../../diagnosis/reading/complete-view.ts';
import type { View } from '../../filter/view/view.ts';
import type { EndpointsSource } from '../../node/views/view-source.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import type { EndpointState } from '../../topology/decide/endpoint.ts';
import { readerOf } from '../../topology/policy/service-reader.ts';
import { type Address, addressText } from '../../util/address.ts';
import type { ProbeTarget } from './kube-proxy-probe.ts';

/** Every cluster has this Service, and its backends accept connections from every node. */
const KUBERNETES_SERVICE = 'default/kubernetes';

const UNKNOWN: ProbeTarget = { clusterIp: undefined, backends: [] };

/**
 * The first address of default/kubernetes, and the backends that kube-proxy has for it, from the objects that clients
 * receive. Unknown while the views are not complete.
 */
export function kubernetesTarget(proxy: ShownState): ProbeTarget {
  const slices = completeView(proxy);
  const { services } = proxy.views.kubeProxy;
  if (slices === undefined || services?.view.started !== true) return UNKNOWN;
  const { view } = services;
  const object = view.get(KUBERNETES_SERVICE);
  if (object === undefined || readerOf(view.codec.service(object)) !== 'kube-proxy') return UNKNOWN;
  const { clusterIPs, ports } = view.codec.serviceAddresses(object);
  const [host] = clusterIPs;
  const [port] = ports;
  if (host === undefined || port === undefined) return UNKNOWN;
  return {
    clusterIp: { host, port: port.number },
    backends: backendsOf(slices, host.includes(':') ? 'IPv6' : 'IPv4', port.key),
  };
}

/** As in kube-proxy: the ready endpoints, else those that are serving while they terminate. */
function backendsOf(
  { view, projection }: EndpointsSource,
  family: string,
  port: string,
): Address[] {
  const { objects } = projection.inspect(KUBERNETES_SERVICE);
  const endpoints = objects.flatMap(({ key }) => endpointsAtPort(view, key, port));
  const inState = (state: EndpointState): Address[] => {
    const found = endpoints.filter(
      (endpoint) => endpoint.family === family && endpoint.state === state,
    );
    return [...new Map(found.map(({ address }) => [addressText(address), address])).values()];
  };
  const ready = inState('ready');
  return ready.length > 0 ? ready : inState('serving');
}

/** The endpoints of an object that have a port, each with its address at that port. */
function endpointsAtPort(view: View, key: string, port: string) {
  const { codec, resource } = view;
  const object = view.get(key);
  if (object === undefined) return [];
  return codec.endpointGroups(resource, object).flatMap(({ ports, endpoints }) => {
    const number = ports.find((each) => each.key === port)?.number;
    if (number === undefined) return [];
    return endpoints.map(({ family, state, addresses: [host = ''] }) => {
      return { family, state, address: { host, port: number } };
    });
  });
}
