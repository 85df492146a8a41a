import type { GroupAddresses, ObjectBytes, PortNumber, ServiceAddresses } from '../codec.ts';
import { portKey } from '../endpoint-facts.ts';
import { ENDPOINTS, type Resource } from '../resource.ts';

interface Port {
  readonly name?: string | null;
  readonly protocol?: string | null;
  readonly port?: number | null;
}

/** Lists may be absent or null. */
interface Slice {
  readonly ports?: readonly Port[] | null;
  readonly endpoints?: readonly { readonly addresses?: readonly string[] | null }[] | null;
}

interface Subset {
  readonly ports?: readonly Port[] | null;
  readonly addresses?: readonly { readonly ip: string }[] | null;
  readonly notReadyAddresses?: readonly { readonly ip: string }[] | null;
}

interface ServiceObject {
  readonly spec?: {
    readonly ports?: readonly Port[] | null;
    readonly clusterIP?: string | null;
    readonly clusterIPs?: readonly string[] | null;
  } | null;
}

/** Reads what facts leave out; see `Codec.addresses`. Asked for on demand, of one Service at a time. */
export function readAddresses(resource: Resource, object: ObjectBytes): GroupAddresses[] {
  if (resource.kind !== ENDPOINTS.kind) {
    const { ports, endpoints } = JSON.parse(object.toString('utf8')) as Slice;
    const addresses = (endpoints ?? []).map((endpoint) => endpoint.addresses ?? []);
    return [{ ports: readPorts(ports), endpoints: addresses }];
  }
  const { subsets } = JSON.parse(object.toString('utf8')) as { subsets?: Subset[] | null };
  return (subsets ?? []).map(({ ports, addresses, notReadyAddresses }) => ({
    ports: readPorts(ports),
    endpoints: [...(addresses ?? []), ...(notReadyAddresses ?? [])].map(({ ip }) => [ip]),
  }));
}

/** Reads where a Service is reached; see `Codec.serviceAddresses`. */
export function readServiceAddresses(object: ObjectBytes): ServiceAddresses {
  const { spec } = JSON.parse(object.toString('utf8')) as ServiceObject;
  const single = spec?.clusterIP ?? '';
  const clusterIPs = spec?.clusterIPs ?? (single === '' ? [] : [single]);
  return { clusterIPs, ports: readPorts(spec?.ports) };
}

function readPorts(ports: readonly Port[] | null | undefined): PortNumber[] {
  return (ports ?? []).map(({ name, protocol, port }) => ({
    key: portKey(protocol ?? '', name ?? ''),
    number: port ?? 0,
  }));
}
