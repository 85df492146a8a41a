import type { GroupAddresses, PortNumber, ServiceAddresses } from '../codec.ts';
import type { Cursor } from '../cursor.ts';
import { DOMAIN_NAMES, portKey } from './api-conventions.ts';
import { readMessage } from './read-message.ts';
import { ENDPOINTS, SERVICE, SLICE } from './schema.ts';

/** Addresses and ports of a slice; see `Codec.addresses`. */
export function readSliceAddresses(slice: Cursor): GroupAddresses[] {
  const { ports, endpoints, addressType } = readMessage(slice, SLICE);
  if (addressType === DOMAIN_NAMES) return [];
  return [
    {
      ports: portNumbers(ports),
      endpoints: endpoints.map(({ addresses }) => addresses),
      hinted: endpoints.map(({ hints }) => hints),
    },
  ];
}

/** Addresses and ports of the subsets of an Endpoints object; see `Codec.addresses`. */
export function readSubsetAddresses(object: Cursor): GroupAddresses[] {
  return readMessage(object, ENDPOINTS).subsets.map((subset) => {
    const addresses = subset.addresses.concat(subset.notReadyAddresses);
    return {
      ports: portNumbers(subset.ports),
      endpoints: addresses.map(({ ip }) => [ip]),
      hinted: addresses.map(() => false),
    };
  });
}

/** Reads the cluster IPs and ports of a Service; see `Codec.serviceAddresses`. */
export function readServiceAddresses(service: Cursor): ServiceAddresses {
  const { clusterIP, clusterIPs, ports } = readMessage(service, SERVICE).spec;
  const single = clusterIP === '' ? [] : [clusterIP];
  return { clusterIPs: clusterIPs.length === 0 ? single : clusterIPs, ports: portNumbers(ports) };
}

function portNumbers(
  ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[],
): PortNumber[] {
  return ports.map(({ name, protocol, port }) => ({ key: portKey(protocol, name), number: port }));
}
