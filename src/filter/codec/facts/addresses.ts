import { portKey } from './api-conventions.ts';
import type { FullGroup } from './endpoint-groups.ts';
import type { GroupAddresses, PortNumber, ServiceAddresses } from './object-facts.ts';
import type { PORT, SERVICE, ValuesOf } from './schema.ts';

/** See `Codec.addresses`. */
export function groupAddresses({ ports, endpoints }: FullGroup): GroupAddresses {
  return {
    ports: portNumbers(ports),
    endpoints: endpoints.map(({ addresses }) => addresses),
    hinted: endpoints.map(({ hints }) => hints),
  };
}

/** See `Codec.serviceAddresses`. */
export function serviceAddresses({ spec }: ValuesOf<typeof SERVICE>): ServiceAddresses {
  const { clusterIP, clusterIPs, ports } = spec;
  const single = clusterIP === '' ? [] : [clusterIP];
  return { clusterIPs: clusterIPs.length === 0 ? single : clusterIPs, ports: portNumbers(ports) };
}

function portNumbers(ports: readonly ValuesOf<typeof PORT>[]): PortNumber[] {
  return ports.map((port) => ({ key: portKey(port), number: port.port }));
}
