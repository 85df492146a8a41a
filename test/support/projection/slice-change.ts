import type { Codec, EndpointsFacts } from '../../../src/filter/codec/codec.ts';
import type { Change } from '../../../src/filter/objects/change.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import { encodeObject } from '../codec/encode-object.ts';

/** An endpoint of a slice. */
export interface SliceEndpoint {
  readonly ip: string;
  readonly node: string;
  /** Empty: unknown, which is the default. */
  readonly zone?: string;
  readonly ready?: boolean;
  /** Zone of its hint; default: it has no hints. */
  readonly hint?: string;
  /** Name of its Pod, which decides nothing. */
  readonly pod?: string;
}

let version = 1;

/** A change of an EndpointSlice of `default`, as a reflector sends it, with the newest version so far. */
export function sliceChange(
  codec: Codec,
  { name, service, uid = 'u', addressType = 'IPv4', ports = [], endpoints }: SliceState,
  type: 'ADDED' | 'MODIFIED' = 'MODIFIED',
): Change<EndpointsFacts> {
  const labels = { 'kubernetes.io/service-name': service };
  const model = {
    metadata: { namespace: 'default', name, uid, resourceVersion: String(++version), labels },
    addressType,
    endpoints: endpoints.map(({ ip, node, zone = '', ready = true, hint, pod }) => ({
      addresses: [ip],
      conditions: { ready },
      nodeName: node,
      zone,
      ...(hint === undefined ? {} : { hints: { forZones: [{ name: hint }] } }),
      ...(pod === undefined ? {} : { targetRef: { kind: 'Pod', name: pod } }),
    })),
    ports: ports.map((port) => ({ name: port, protocol: 'TCP', port: 80 })),
  };
  const object = encodeObject(codec.encoding, 'EndpointSlice', model);
  return { type, key: `default/${name}`, facts: codec.endpoints(ENDPOINT_SLICES, object), object };
}

export interface SliceState {
  readonly name: string;
  readonly service: string;
  readonly uid?: string;
  readonly addressType?: string;
  /** Names of its ports. */
  readonly ports?: readonly string[];
  readonly endpoints: readonly SliceEndpoint[];
}
